"""The row about secrets: where they are, what cannot be read, and what stands in the open."""

from dataclasses import replace

import pytest

from fermix.application.operations.doctor.report import RowStatus
from fermix.application.operations.doctor.secrets import SecretFacts, judge_secrets

WELL = SecretFacts(
    kept={"the system's keychain": 2}, unread=(), plain=(), file="/h/secrets/secrets.json", mode=None
)


def test_secrets_that_are_kept_and_read_are_well() -> None:
    found = judge_secrets(replace(WELL, mode=0o600))
    assert found.status is RowStatus.OK
    assert found.sentence == "2 in the system's keychain; mode of the private file 0600"


def test_a_home_without_secrets_is_well() -> None:
    assert judge_secrets(replace(WELL, kept={})).status is RowStatus.OK


@pytest.mark.parametrize(
    ("facts", "said", "remedy"),
    [
        (replace(WELL, unread=("a.b is kept in X: locked",)), "a.b is kept in X: locked", "do what is named"),
        (
            replace(WELL, plain=("a.api_key", "b.token")),
            "a.api_key, b.token",
            "fermix setup --migrate-secrets",
        ),
        (
            replace(WELL, mode=0o644),
            "/h/secrets/secrets.json was open to other users (mode 0644)",
            "chmod 600",
        ),
    ],
)
def test_what_should_be_looked_at_is_named_with_its_remedy(
    facts: SecretFacts, said: str, remedy: str
) -> None:
    found = judge_secrets(facts)
    assert found.status is RowStatus.WARN
    assert any(said in detail for detail in found.details)
    assert remedy in (found.remedy or "")
