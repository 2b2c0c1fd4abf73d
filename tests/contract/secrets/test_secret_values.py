"""Names are checked when they are made, and a secret shows nowhere by accident."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports.secrets import MAX_NAME, MAX_SECRET_BYTES, Secret, SecretName
from fermix.testing.error_texts import texts_of


@pytest.mark.parametrize(
    "text",
    ["", " ", "a b", "a/b", "../a", ".a", "a.", "a..b", "-a", "a\n", "a\0", "ä", "a" * (MAX_NAME + 1), "a=b"],
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no name for a secret"):
        SecretName(text)


@pytest.mark.parametrize("text", ["a", "providers.openai.api_key", "A.b-c_1", "a" * MAX_NAME, "1.2"])
def test_a_name_is_its_text(text: str) -> None:
    assert SecretName(text).text == text


@pytest.mark.parametrize("text", ["", " \n", "a\0b-secret", "secret-\ud800", "secret" * MAX_SECRET_BYTES])
def test_what_is_no_secret_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ValueError, match="a secret must") as caught:
        Secret(text)
    assert not [told for told in texts_of(caught.value) if "secret-" in told or "secretsecret" in told]


@given(st.text(min_size=12, alphabet=st.characters(min_codepoint=0x21, max_codepoint=0x2FFF)))
def test_a_secret_reveals_itself_only_when_asked(text: str) -> None:
    secret = Secret(f"<{text}>")
    assert secret.reveal() == f"<{text}>"
    assert text not in f"{secret} {secret!r} {[secret]} {(secret,)!s}"
    assert copy.copy(secret) == pickle.loads(pickle.dumps(secret)) == secret  # noqa: S301  our own bytes
