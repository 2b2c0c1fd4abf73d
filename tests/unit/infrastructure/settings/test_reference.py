import tomllib

from tests.unit.infrastructure.settings.configuration_reference import DOCUMENT, document_with, reference


def test_the_documented_keys_types_defaults_and_variables_are_those_of_the_code() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    assert document == document_with(reference(), document)


def test_every_key_has_a_meaning_in_words() -> None:
    rows = [line for line in reference().splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    assert all(len(cell.strip()) > 2 for row in rows for cell in row.strip("|").split(" | "))


def test_the_example_of_an_error_is_a_real_one() -> None:
    assert 'did you mean "allowed_user_ids"?' in DOCUMENT.read_text(encoding="utf-8")
    assert tomllib.loads("[fermix_channels.telegram]\nallowed_users = []")
