"""The list of required behaviours and the marks of the tests hold each other to account.

The marks are read from the source of the test files, so the verdict is the same whichever tests are selected and
however many processes run them.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.requirements import CAPABILITIES, PENDING_FILE, REQUIREMENTS

TESTS = Path(__file__).resolve().parents[1]
IDS = frozenset(requirement.id for requirement in REQUIREMENTS)

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What the marks of test sources say: id → where it is claimed; and marks that claim nothing."""

    proven: Mapping[str, tuple[str, ...]]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """The list of unproven behaviours as it stands in its file."""

    limit: int | None
    entries: tuple[tuple[str, str], ...]
    faults: tuple[str, ...]


def _is_mark(node: ast.AST, *names: str) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr not in names:
        return False
    owner = node.value
    return (isinstance(owner, ast.Attribute) and owner.attr == "mark") or (
        isinstance(owner, ast.Name) and owner.id == "mark"
    )


def _is_test(node: ast.AST) -> bool:
    """A test function, a class of tests, or a name that pytest collects as one."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return node.name.startswith("test_")
        case ast.ClassDef():
            return any(_is_test(child) for child in node.body)
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name.startswith("Test")
        case _:
            return False


def _never_passes(node: Definition) -> bool:
    marks = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return any(_is_mark(mark, "skip", "xfail") for mark in marks)


def _claiming(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """The expressions of a module or class body whose marks end on a test that can pass."""
    holds_tests = any(_is_test(statement) for statement in body)
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if _is_test(statement):
                if _never_passes(statement):
                    continue
                yield from statement.decorator_list
                if isinstance(statement, ast.ClassDef):
                    yield from _claiming(statement.body)
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value) if holds_tests:
                yield value
            case ast.Assign(value=value) if _is_test(statement):
                yield value
            case _:
                pass


def read_claims(sources: Iterable[tuple[str, str]]) -> Claims:
    """Read the `requirement` marks of test sources, given as (name, text)."""
    proven: dict[str, list[str]] = {}
    faults: list[str] = []
    for name, text in sources:
        tree = ast.parse(text, filename=name)
        calls = {
            id(node.func): node
            for expression in _claiming(tree.body)
            for node in ast.walk(expression)
            if isinstance(node, ast.Call) and _is_mark(node.func, "requirement")
        }
        for node in ast.walk(tree):
            if not _is_mark(node, "requirement"):
                continue
            where = f"{name}:{getattr(node, 'lineno', 0)}"
            call = calls.get(id(node))
            if call is None:
                faults.append(f"{where} stands on no test, or on one that is skipped or expected to fail")
                continue
            ids = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if call.keywords or not ids or len(ids) != len(call.args):
                faults.append(f"{where} does not name its ids as plain strings")
            for each in ids:
                proven.setdefault(each, []).append(where)
    return Claims(proven={key: tuple(value) for key, value in proven.items()}, faults=tuple(faults))


def read_pending(text: str) -> Pending:
    """Read the list of unproven behaviours: its limit, its lines `id  capability`, and lines that are neither."""
    first, *rest = text.splitlines() or [""]
    limit = re.fullmatch(r"# at most (\d+)", first)
    faults = [] if limit else ["line 1 is not `# at most N`"]
    entries: list[tuple[str, str]] = []
    for number, line in enumerate(rest, start=2):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if len(words) == 2:
            entries.append((words[0], words[1]))
        else:
            faults.append(f"line {number} is not `id  capability`: {line}")
    return Pending(limit=int(limit[1]) if limit else None, entries=tuple(entries), faults=tuple(faults))


def _listed(title: str, items: Iterable[str]) -> str:
    found = sorted(items)
    return f"{len(found)} {title}:\n" + "\n".join(f"  {item}" for item in found) if found else ""


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


@pytest.fixture(scope="module")
def claims() -> Claims:
    files = sorted(path for path in TESTS.rglob("*.py") if "__pycache__" not in path.parts)
    return read_claims((str(path.relative_to(TESTS)), path.read_text("utf-8")) for path in files)


@pytest.fixture(scope="module")
def pending() -> Pending:
    return read_pending(PENDING_FILE.read_text("utf-8"))


def test_every_id_belongs_to_one_behaviour() -> None:
    problem = _listed("ids are given twice", _repeated(requirement.id for requirement in REQUIREMENTS))
    assert not problem, problem


def test_every_requirement_has_a_dotted_id_a_source_and_a_sentence() -> None:
    odd = [
        requirement.id
        for requirement in REQUIREMENTS
        if not re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+", requirement.id)
        or not re.fullmatch(r"(ingress-and-trust|channels|design)#[a-z-]+( \d+)?", requirement.source)
        or not requirement.behaviour.endswith((".", '."'))
    ]
    problem = _listed("requirements are not well formed", odd)
    assert not problem, problem


def test_every_mark_stands_on_a_test_and_names_its_ids(claims: Claims) -> None:
    problem = _listed("marks prove nothing", claims.faults)
    assert not problem, problem


def test_no_test_claims_an_unknown_id(claims: Claims) -> None:
    unknown = (f"{i} ({', '.join(where)})" for i, where in claims.proven.items() if i not in IDS)
    problem = _listed("ids in tests are unknown", unknown)
    assert not problem, problem


def test_every_behaviour_has_a_test_unless_it_is_pending(claims: Claims, pending: Pending) -> None:
    waiting = {entry for entry, _ in pending.entries}
    problem = _listed("behaviours have no test", IDS - claims.proven.keys() - waiting)
    assert not problem, problem


def test_a_proven_behaviour_has_left_the_pending_list(claims: Claims, pending: Pending) -> None:
    proven = [entry for entry, _ in pending.entries if entry in claims.proven]
    problem = _listed("pending ids have a test: take their lines out and lower the limit", proven)
    assert not problem, problem


def test_the_pending_list_names_known_ids_and_capabilities_once(pending: Pending) -> None:
    problem = "\n".join(
        text
        for text in (
            _listed("lines cannot be read", pending.faults),
            _listed("ids are unknown", (entry for entry, _ in pending.entries if entry not in IDS)),
            _listed(
                "capabilities are unknown", (f"{e}: {c}" for e, c in pending.entries if c not in CAPABILITIES)
            ),
            _listed("ids stand there twice", _repeated(entry for entry, _ in pending.entries)),
        )
        if text
    )
    assert not problem, problem


def test_the_pending_list_only_shrinks(pending: Pending) -> None:
    assert pending.limit is not None
    lines = len(pending.entries)
    assert lines <= pending.limit, f"the list grew to {lines} lines, at most {pending.limit} are allowed"
    assert lines == pending.limit, (
        f"the list shrank to {lines} lines: lower its first line to `# at most {lines}`"
    )


ON_A_FUNCTION = '@pytest.mark.requirement("a.b", "c.d")\nasync def test_it(): ...'
ON_A_CLASS = '@pytest.mark.requirement("a.b")\nclass Suite:\n  def test_it(self): ...'
ON_A_METHOD = 'class Suite:\n  @pytest.mark.requirement("a.b")\n  def test_it(self): ...'
ON_A_CASE = (
    '@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.requirement("a.b"))])\n'
    "def test_it(x): ..."
)
ON_A_MODULE = 'pytestmark = [pytest.mark.anyio, pytest.mark.requirement("a.b")]\ndef test_it(): ...'
ON_A_MACHINE = 'TestLedger = pytest.mark.requirement("a.b")(Machine.TestCase)'


@pytest.mark.parametrize(
    ("source", "ids"),
    [
        (ON_A_FUNCTION, {"a.b", "c.d"}),
        (ON_A_CLASS, {"a.b"}),
        (ON_A_METHOD, {"a.b"}),
        (ON_A_CASE, {"a.b"}),
        (ON_A_MODULE, {"a.b"}),
        (ON_A_MACHINE, {"a.b"}),
    ],
)
def test_a_mark_on_a_test_is_found(source: str, ids: set[str]) -> None:
    found = read_claims([("sample.py", source)])
    assert (set(found.proven), found.faults) == (ids, ())


@pytest.mark.parametrize(
    "source",
    [
        '@pytest.mark.requirement("a.b")\ndef helper(): ...',
        '@pytest.mark.requirement("a.b")\nclass Holder:\n  value = 1',
        '@pytest.mark.skip\n@pytest.mark.requirement("a.b")\ndef test_it(): ...',
        '@pytest.mark.xfail(reason="late")\n@pytest.mark.requirement("a.b")\ndef test_it(): ...',
        '@pytest.mark.skip\nclass Suite:\n  @pytest.mark.requirement("a.b")\n  def test_it(self): ...',
        'pytestmark = pytest.mark.requirement("a.b")\n',
        'proves = pytest.mark.requirement\n\n@proves("a.b")\ndef test_it(): ...',
        'def test_outer():\n  @pytest.mark.requirement("a.b")\n  def test_inner(): ...',
    ],
)
def test_a_mark_that_no_passing_test_carries_is_a_fault(source: str) -> None:
    found = read_claims([("sample.py", source)])
    assert not found.proven
    assert len(found.faults) == 1


@pytest.mark.parametrize("arguments", ["", "NAME", '*["a.b"]', 'id="a.b"', "1"])
def test_a_mark_without_plain_ids_is_a_fault(arguments: str) -> None:
    found = read_claims([("sample.py", f"@pytest.mark.requirement({arguments})\ndef test_it(): ...")])
    assert not found.proven
    assert len(found.faults) == 1


def test_an_odd_pending_list_is_told_line_by_line() -> None:
    found = read_pending("at most 3\n# a remark\n\na.b  media\nc.d\n")
    assert found.entries == (("a.b", "media"),)
    assert len(found.faults) == 2
    assert read_pending("# at most 1\na.b  media\n") == Pending(
        limit=1, entries=(("a.b", "media"),), faults=()
    )
