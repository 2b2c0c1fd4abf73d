"""Writes the tables of `docs/configuration.md` from the models; run as a program it updates the file.

python tests/unit/infrastructure/settings/configuration_reference.py
"""

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, BeforeValidator, SecretStr
from pydantic.fields import FieldInfo

from fermix.infrastructure.settings.environment import VARIABLES
from fermix.infrastructure.settings.keys import entries_of, free_entries, keys_of, section_of
from fermix.infrastructure.settings.known_providers import KNOWN_PROVIDERS
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.section import Identifier, PlatformId, SocketAddress, WebAddress

DOCUMENT = Path(__file__).parents[4] / "docs" / "configuration.md"
BEGIN, END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"

_BY_VALIDATOR = {
    get_args(WebAddress)[1]: "http(s) address",
    get_args(SocketAddress)[1]: "ws(s) address",
    get_args(Identifier)[1]: "id (number or text)",
    get_args(PlatformId)[1]: "id (number or text)",
}
_BY_TYPE = {bool: "true or false", str: "text", SecretStr: "secret", Path: "path"}


def reference() -> str:
    return "\n".join([*_section("", Settings, ()), *_environment(), *_providers()])


def document_with(generated: str, document: str) -> str:
    before, rest = document.split(BEGIN)
    return before + BEGIN + "\n" + generated + "\n" + END + rest.split(END)[1]


def _section(title: str, model: type[BaseModel], path: tuple[str, ...]) -> Iterator[str]:
    words = _descriptions(model)
    rows = []
    inner: list[str] = []
    for key, info in keys_of(model).items():
        here = (*path, key)
        if section := section_of(info):
            inner.extend(_section(".".join(here), section, here))
        elif entry := entries_of(info):
            inner.extend(_section(".".join((*here, "<name>")), entry, (*here, "<name>")))
        else:
            rows.append(f"| `{key}` | {_type(info)} | {_default(info)} | {words[key]} |")
    if rows:
        summary = (model.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        yield f"### `[{title}]`\n\n{summary}\n\n| Key | Type | Default | Meaning |\n|---|---|---|---|"
        yield from rows
        yield ""
    yield from inner
    if (free := free_entries(model)) and title != "fermix_channels":
        yield from _section(f"{title}.<name>", free, (*path, "<name>"))


def _descriptions(model: type[BaseModel]) -> dict[str, str]:
    """The texts below the fields of a class and its parents, by key."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if not issubclass(cls, BaseModel) or cls is BaseModel or cls.__module__.startswith("pydantic"):
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            match field, text:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(words))),
                ) if name in model.model_fields:
                    found[model.model_fields[name].alias or name] = " ".join(words.split())
    return found


def _type(info: FieldInfo) -> str:
    return _type_words(info.annotation, tuple(info.metadata))


def _type_words(annotation: Any, marks: tuple[Any, ...]) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_words(inner[0], (*inner[1:], *marks))
    if origin in {Union, types.UnionType}:
        (only,) = (part for part in inner if part is not type(None))
        return _type_words(only, marks)
    if origin is tuple:
        return f"list of: {_type_words(inner[0], ())}"
    if origin is Literal:
        return ", ".join(f'`"{word}"`' for word in inner)
    return _plain_type_words(annotation, marks)


def _plain_type_words(annotation: Any, marks: tuple[Any, ...]) -> str:
    for mark in marks:
        if isinstance(mark, BeforeValidator) and mark in _BY_VALIDATOR:
            return _BY_VALIDATOR[mark]
    if annotation in {int, float}:
        return ("whole number" if annotation is int else "number") + _bounds(marks)
    return _BY_TYPE.get(annotation, "table of secrets")


def _bounds(marks: tuple[Any, ...]) -> str:
    flat = [inner for mark in marks for inner in (mark.metadata if isinstance(mark, FieldInfo) else (mark,))]
    words = []
    for mark in flat:
        match mark:
            case Ge(ge=low):
                words.append(f"at least {low}")
            case Gt(gt=low):
                words.append(f"more than {low}")
            case Le(le=high):
                words.append(f"at most {high}")
            case Lt(lt=high):
                words.append(f"less than {high}")
    return ", " + ", ".join(words) if words else ""


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True, validated_data={})
    match value:
        case None:
            return "unset"
        case bool():
            return f"`{str(value).lower()}`"
        case () | {}:
            return "none"
        case str():
            return f'`"{value}"`'
    return f"`{value}`"


def _environment() -> Iterator[str]:
    yield "### Environment variables\n\n| Variable | Sets |\n|---|---|"
    yield "| `FERMIX_HOME` | the home |"
    meanings = {
        "provider": "which provider is primary",
        "default_model": "the model of whichever provider answers",
        "reasoning_effort": "the reasoning effort of whichever provider answers",
        "oauth_token": "a subscription, which cannot run in this version",
    }
    for variable in VARIABLES:
        outside = "override" in variable.path or variable.path[-1] == "oauth_token"
        sets = meanings[variable.path[-1]] if outside else f"`{'.'.join(variable.path)}`"
        yield f"| `{variable.name}` | {sets} |"
    yield ""


def _providers() -> Iterator[str]:
    yield "### Known providers\n\n| Name | Address | Model when none is set | Runs here |\n|---|---|---|---|"
    for name, known in KNOWN_PROVIDERS.items():
        address = known.base_url or ("built in" if known.responses or known.keyless else "none")
        model = known.default_model or "none: set `default_model`"
        runs = "yes" if known.keyless or known.responses or known.base_url else "with `base_url`"
        runs = runs if known.runs else "with `base_url` and `wire`"
        yield f"| `{name}` | {address} | {model} | {runs} |"
    yield ""


if __name__ == "__main__":
    DOCUMENT.write_text(document_with(reference(), DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
