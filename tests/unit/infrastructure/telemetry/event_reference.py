"""The tables of events in the documentation, made from the registry.

`python -m tests.unit.infrastructure.telemetry.event_reference` writes them.
"""

from collections.abc import Iterator
from pathlib import Path

from fermix.domain.telemetry import EVENTS
from fermix.domain.telemetry_fields import EventKind, FieldKind, FieldSpec

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "telemetry.md"

_BEGIN = "<!-- events: written by tests/unit/infrastructure/telemetry/event_reference.py -->\n"
_END = "<!-- end of events -->"


def reference() -> str:
    """One section per event, in the order of registration."""
    return "\n".join(line for kind in EVENTS.values() for line in _section(kind))


def document_with(tables: str, document: str) -> str:
    """The document with these tables in the place of its own."""
    before, _, rest = document.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{tables}\n{_END}{after}"


def _section(kind: EventKind) -> Iterator[str]:
    yield f"### `{kind.name}`"
    yield ""
    yield f"{kind.meaning} In `{kind.trace}.jsonl`."
    yield ""
    yield "| Field | Holds | Meaning |"
    yield "|---|---|---|"
    for spec in kind.fields:
        yield f"| `{spec.name}` | {_holds(spec)} | {spec.meaning} |"
    yield ""


def _holds(spec: FieldSpec) -> str:
    held = ", ".join(f"`{word}`" for word in spec.words) if spec.kind is FieldKind.WORD else spec.kind.value
    return f"{held}, or nothing" if spec.optional else held


if __name__ == "__main__":
    DOCUMENT.write_text(document_with(reference(), DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
