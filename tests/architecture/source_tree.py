"""The source as the architecture tests read it: parsed, never imported."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "fermix"

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One source file; `place` is its path below the package, with `/` between folders."""

    place: str
    text: str
    tree: ast.Module

    def imports(self) -> Iterator[tuple[int, str]]:
        """Every module imported anywhere in it, also lazily and for types alone: line and full name."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Import(names=names):
                    yield from ((node.lineno, alias.name) for alias in names)
                case ast.ImportFrom(module=str(name)):
                    yield node.lineno, name
                case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name))]):
                    yield node.lineno, name
                case ast.Call(func=ast.Name(id="__import__"), args=[ast.Constant(value=str(name)), *_]):
                    yield node.lineno, name

    def strings(self) -> Iterator[tuple[int, str]]:
        """Every text in it that is no docstring: line and value."""
        documentation = {
            id(node.body[0].value)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Module | Definition) and node.body and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in documentation
            ):
                yield node.lineno, node.value


def read_module(path: Path) -> Module:
    """Read and parse one file of the package."""
    text = path.read_text("utf-8")
    return Module(place=path.relative_to(SRC).as_posix(), text=text, tree=ast.parse(text, filename=str(path)))


def modules(*folders: str) -> list[Module]:
    """All modules of the package, or of some of its folders, in the order of their names."""
    found = sorted(path for path in SRC.rglob("*.py"))
    return [
        module
        for module in map(read_module, found)
        if not folders or module.place.startswith(tuple(f"{folder}/" for folder in folders))
    ]
