"""The house rules that a machine can check."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import ROOT, SRC, Module, modules, read_module

MOST_LINES = 400
LAYERS = frozenset({"domain", "application", "infrastructure", "entrypoints", "testing"})
INFRASTRUCTURE = frozenset(
    {
        "blobs",
        "channels",
        "http",
        "http_client",
        "local_socket",
        "media",
        "persistence",
        "pictures",
        "providers",
        "sandbox",
        "search",
        "secrets",
        "service",
        "settings",
        "system",
        "telemetry",
        "text",
        "tools",
        "transcription",
        "workspace",
    }
)
ENTRYPOINTS = frozenset({"cli", "doctor_rows"})
PLACELESS = frozenset({"utils", "helpers", "common", "base", "manager", "misc", "shared", "core", "lib"})
EMPTY = ("__init__.py", "entrypoints/__init__.py", "entrypoints/cli/__init__.py")

OF_THE_WORKSHOP = {
    "the number of a tracker": r"(?<![\w&])#\d{1,5}\b|\b(?:[Ii]ssue|[Tt]icket|PR|GH)[ -]?#?\d+\b",
    "a machine's path": r"(?<![\w.])/(?:work|root|tmp/w)\b(?!-)",
    "a package registry": r"\b(?:pypi\.org|pythonhosted\.org|proxy\.golang\.org)\b",
    "an unfinished place": r"\b(?:TODO|FIXME|XXX|HACK)\b",
}


def listed(problems: Iterator[str] | list[str]) -> str:
    return "\n".join(sorted(problems))


def packages(folder: str) -> set[str]:
    """The packages directly below a folder of the source."""
    place = SRC / folder
    return {path.name for path in place.iterdir() if any(path.glob("*.py"))} if place.is_dir() else set()


def test_imports_keep_to_the_contracts() -> None:
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    options = ["--no-cache", "--no-logo", "pyproject.toml"]
    ended = subprocess.run(
        [sys.executable, "-c", program, *options],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_no_module_is_longer_than_one_subject_needs() -> None:
    long = [
        f"{module.place}: {lines} lines"
        for module in modules()
        if (lines := len(module.text.splitlines())) > MOST_LINES
    ]
    assert not long, listed(long)


def test_every_package_has_its_place() -> None:
    assert packages("") <= LAYERS
    assert packages("domain") == {"streaming"}
    assert packages("infrastructure") <= INFRASTRUCTURE
    assert packages("entrypoints") <= ENTRYPOINTS


def test_every_use_case_package_is_closed_to_adapters_and_ports() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    use_cases = {f"fermix.application.{name}" for name in packages("application") - {"ports"}}
    use_cases |= {
        f"fermix.application.{path.stem}"
        for path in (SRC / "application").glob("*.py")
        if path.stem != "__init__"
    }
    for source in ("fermix.infrastructure", "fermix.application.ports"):
        forbidden = {
            name
            for contract in contracts
            if contract["type"] == "forbidden" and contract["source_modules"] == [source]
            for name in contract["forbidden_modules"]
        }
        assert use_cases <= forbidden, f"{source} may import {sorted(use_cases - forbidden)}"


def test_nothing_is_named_for_having_no_better_name() -> None:
    found = [
        module.place
        for module in modules()
        if PLACELESS & {part.removesuffix(".py") for part in module.place.split("/")}
    ]
    assert not found, listed(found)


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in SRC.rglob("*.py")}
    bare = [str(folder.relative_to(SRC)) for folder in folders if not (folder / "__init__.py").is_file()]
    assert not bare, listed(bare)


@pytest.mark.parametrize("place", EMPTY)
def test_a_package_on_the_way_to_the_command_line_loads_nothing(place: str) -> None:
    body = read_module(SRC / place).tree.body
    assert all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in body)


def test_asyncio_is_known_to_channels_alone() -> None:
    found = [
        f"{module.place}:{line} imports {name}"
        for module in modules()
        if not module.place.startswith("infrastructure/channels/")
        for line, name in module.imports()
        if name.partition(".")[0] == "asyncio"
    ]
    assert not found, listed(found)


def test_only_the_command_line_prints() -> None:
    found = [
        f"{module.place}:{node.lineno}"
        for module in modules()
        if not module.place.startswith("entrypoints/cli/")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not found, listed(found)


def test_the_domain_never_awaits() -> None:
    waiting = ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith
    found = [
        f"{module.place}:{getattr(node, 'lineno', 0)}"
        for module in modules("domain")
        for node in ast.walk(module.tree)
        if isinstance(node, waiting) or (isinstance(node, ast.comprehension) and node.is_async)
    ]
    assert not found, listed(found)


def test_the_domain_reads_neither_clock_nor_chance_nor_environment() -> None:
    outside = {
        "os",
        "random",
        "secrets",
        "socket",
        "subprocess",
        "sys",
        "threading",
        "time",
        "uuid",
        "logging",
    }
    found = [
        f"{module.place}:{line} imports {name}"
        for module in modules("domain")
        for line, name in module.imports()
        if name.partition(".")[0] in outside
    ]
    assert not found, listed(found)


def _exempt(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """What says the same as what it completes: overrides, overloads and setters."""
    names = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
    return node.name.startswith("_") or bool(names & {"override", "overload", "setter"})


def _undocumented(body: list[ast.stmt], where: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.ClassDef(name=name) if not name.startswith("_"):
                if ast.get_docstring(node) is None:
                    yield f"{where}{name}"
                yield from _undocumented(node.body, f"{where}{name}.")
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not _exempt(node):
                if ast.get_docstring(node) is None:
                    yield f"{where}{node.name}"


def undocumented(module: Module) -> Iterator[str]:
    """The public names of a module that do not say what they promise, the module itself included."""
    if module.tree.body and ast.get_docstring(module.tree) is None:
        yield module.place
    yield from _undocumented(module.tree.body, f"{module.place}: ")


def test_every_public_name_says_what_it_promises() -> None:
    found = [name for module in modules() for name in undocumented(module)]
    assert not found, listed(found)


@pytest.mark.parametrize("kind", OF_THE_WORKSHOP)
def test_no_text_speaks_of_the_workshop(kind: str) -> None:
    pattern = re.compile(OF_THE_WORKSHOP[kind])
    papers = [*SRC.rglob("*.py"), *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in papers
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if (match := pattern.search(line))
    ]
    assert not found, listed(found)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("the number of a tracker", "see #12"),
        ("the number of a tracker", "issue 2 asks for it"),
        ("a machine's path", "in /work/main"),
        ("a machine's path", "cd /root"),
        ("a package registry", "from https://pypi.org/simple"),
        ("an unfinished place", "# TODO later"),
    ],
)
def test_the_workshops_words_would_be_noticed(kind: str, text: str) -> None:
    assert re.search(OF_THE_WORKSHOP[kind], text)
