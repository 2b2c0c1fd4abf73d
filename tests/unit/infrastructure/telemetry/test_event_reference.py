from tests.unit.infrastructure.telemetry.event_reference import DOCUMENT, document_with, reference


def test_the_documented_events_and_fields_are_those_of_the_registry() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    assert document == document_with(reference(), document)
