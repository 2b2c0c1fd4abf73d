"""What every section is made of: one strict, frozen model class and the types of its values.

Values are checked strictly (`"4030"` is no number), whitespace around text is dropped, and blank text counts as
unset: tokens are pasted, with line ends. No error made here repeats its value, since that may be a secret.
"""

from pathlib import Path
from typing import Annotated, Any, LiteralString, TypeAlias
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError


class Section(BaseModel):
    """A table of the file. Unknown keys are refused, values are never coerced, instances never change."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, hide_input_in_errors=True, str_strip_whitespace=True
    )

    @model_validator(mode="before")
    @classmethod
    def _blank_counts_as_unset(cls, table: Any) -> Any:
        if not isinstance(table, dict):
            return table
        return {
            key: value for key, value in table.items() if not (isinstance(value, str) and not value.strip())
        }


class FromCode:
    """Marks a field that the program fills in; as a key in the file it is unknown."""


REFUSED = "refused"


def refused(text: LiteralString) -> PydanticCustomError:
    """What a validator raises: `text` begins with a verb, after the key's name, and never repeats the value."""
    return PydanticCustomError(REFUSED, text)


def _as_tuple(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, tuple):
        return value
    raise refused("must be a list, in square brackets")


def _as_path(value: Any) -> Any:
    if isinstance(value, str):
        if "\0" in value:
            raise refused("must not contain a NUL character")
        return Path(value.strip())
    if not isinstance(value, Path):
        raise refused("must be a path in quotes")
    return value


def _as_identifier(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise refused("must be an id: a number or a text in quotes")
    return str(value).strip()


def _as_secret(value: Any) -> Any:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    if not isinstance(text, str):
        raise refused("must be a text in quotes")
    text = text.strip()
    if not text.isprintable():
        raise refused("has a line break or another control character inside; paste it again")
    return SecretStr(text)


def _as_credential(value: Any) -> Any:
    secret = _as_secret(value)
    text: str = secret.get_secret_value()
    if not text.isascii() or " " in text:
        raise refused("has a space or a character outside ASCII inside; paste it again")
    return secret


def _as_address(value: Any, schemes: tuple[str, str], begins: LiteralString) -> str:
    if not isinstance(value, str):
        raise refused("must be an address in quotes")
    text = value.strip().rstrip("/")
    if not text.isascii() or not text.isprintable() or " " in text:
        raise refused("has a space or a character outside ASCII inside")
    parts = _split(text)
    if parts is None or parts.scheme not in schemes or not parts.hostname:
        raise refused(begins)
    if parts.username is not None or parts.password is not None:
        raise refused("must not contain a user name or password")
    if parts.query or parts.fragment:
        raise refused("must not contain a query or a fragment")
    return text


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        return None if parts.port == 0 else parts
    except ValueError:
        return None


def _as_web_address(value: Any) -> str:
    return _as_address(
        value, ("http", "https"), "must be a whole address that begins with http:// or https://"
    )


def _as_socket_address(value: Any) -> str:
    return _as_address(value, ("ws", "wss"), "must be a whole address that begins with ws:// or wss://")


Text: TypeAlias = Annotated[str, Field(max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""One line of ordinary text."""

Prose: TypeAlias = Annotated[str, Field(max_length=20_000)]
"""Text of several lines that a model reads."""

Texts: TypeAlias = Annotated[tuple[Text, ...], BeforeValidator(_as_tuple)]
Paths: TypeAlias = Annotated[tuple["FilePath", ...], BeforeValidator(_as_tuple)]

FilePath: TypeAlias = Annotated[Path, BeforeValidator(_as_path)]
"""A path as it was written; `Settings.absolute` expands `~` and resolves it against the home."""

Identifier: TypeAlias = Annotated[str, BeforeValidator(_as_identifier)]
"""A platform's id, number or text, as trimmed text."""

PlatformId: TypeAlias = Annotated[
    str, BeforeValidator(_as_identifier), Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
]
"""An id that goes into requests: one line."""

Identifiers: TypeAlias = Annotated[tuple[Identifier, ...], BeforeValidator(_as_tuple)]

Secret: TypeAlias = Annotated[SecretStr, BeforeValidator(_as_secret)]
"""A secret that a person chose or a signature is made with: any printable text."""

Credential: TypeAlias = Annotated[SecretStr, BeforeValidator(_as_credential)]
"""A secret that travels in a header or an address: printable ASCII without spaces."""

WebAddress: TypeAlias = Annotated[str, BeforeValidator(_as_web_address)]
"""An `http` or `https` address without a trailing slash, query or credentials."""

SocketAddress: TypeAlias = Annotated[str, BeforeValidator(_as_socket_address)]
"""A `ws` or `wss` address without a trailing slash, query or credentials."""

Milliseconds: TypeAlias = Annotated[int, Field(ge=0, le=24 * 3600 * 1000)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=24 * 3600, allow_inf_nan=False)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000_000)]
