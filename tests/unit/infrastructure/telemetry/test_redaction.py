import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.telemetry.redaction import SCANNED, Redactor, redact
from fermix.infrastructure.telemetry.shapes import credential_shapes

# Brackets and the letters of the mask itself are left out: a secret that is a part of `[REDACTED:secret]` would be
# found in the mask.
_SECRETS = st.text(alphabet="abxyz0189_-./+= é😀\n\"'\\%", min_size=6, max_size=40).filter(
    lambda text: len(text.strip()) >= 6
)
_NOISE = st.text(alphabet="abxyz0189 \n:=&?/é😀", max_size=30)


@pytest.mark.requirement("secrets.redacted_in_logs")
@given(secrets=st.lists(_SECRETS, min_size=1, max_size=5), noise=st.lists(_NOISE, min_size=6, max_size=6))
def test_no_registered_secret_survives_wherever_it_stands(secrets: list[str], noise: list[str]) -> None:
    redactor = Redactor()
    for secret in secrets:
        redactor.register(secret)
    text = "".join(part for pair in zip(noise, [*secrets, *secrets], strict=False) for part in pair)

    shown = redactor.redact(text)

    for secret in secrets:
        assert secret.strip() not in shown


@given(secret=_SECRETS)
def test_a_secret_is_hidden_in_its_usual_spellings(secret: str) -> None:
    redactor = Redactor()
    redactor.register(secret)
    secret = secret.strip()

    for spelled in (repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret, safe="")):
        assert spelled not in redactor.redact(f"({spelled})")


@given(text=st.text(alphabet="abc XYZ,.!?", max_size=200))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert Redactor().redact(text) == text


@pytest.mark.parametrize("start", range(SCANNED - 12, SCANNED + 3))
def test_a_secret_across_the_end_of_what_is_kept_is_not_cut_in_half(start: int) -> None:
    redactor = Redactor()
    redactor.register("hunter-0123456789")
    text = "." * start + "hunter-0123456789" + "." * 30_000

    shown = redactor.redact(text)

    assert "hunt" not in shown
    assert len(shown) < SCANNED + 100
    assert "characters left out" in shown


def test_a_long_secret_is_hidden_in_all_its_parts() -> None:
    redactor = Redactor()
    secret = "".join(f"{number:05d}|" for number in range(2_000))
    redactor.register(secret)

    assert "|" not in redactor.redact(secret)


def test_a_short_value_is_no_secret() -> None:
    redactor = Redactor()

    assert not redactor.register("abcde")
    assert not redactor.register(" abcde \n")
    assert redactor.register("abcdef\n")
    assert redactor.redact("abcde abcdef") == "abcde [REDACTED:secret]"


def test_the_kind_is_shown_in_place_of_the_secret() -> None:
    redactor = Redactor()
    redactor.register("correct horse", "Slack signing_secret")

    assert redactor.redact("a correct horse b") == "a [REDACTED:slack_signing_secret] b"


def test_overlapping_secrets_leave_nothing_of_either() -> None:
    redactor = Redactor()
    redactor.register("aaaBBBccc")
    redactor.register("BBBcccDDD")

    assert redactor.redact("<aaaBBBcccDDD>") == "<[REDACTED:secret]>"


def test_secrets_of_several_redactors_are_hidden() -> None:
    one, other = Redactor(), Redactor()
    one.register("first-secret", "one")
    other.register("second-secret", "other")

    assert redact("first-secret second-secret", (one, other)) == "[REDACTED:one] [REDACTED:other]"


@pytest.mark.parametrize(
    "text",
    [
        "POST https://api.telegram.org/bot999001:AAtesttokentesttokentesttoken00001/getUpdates",
        "GET https://api.telegram.org/file/bot999001:AAtesttokentesttokentesttoken00001/voice/file_7.oga",
        "http://127.0.0.1:8081/bot1:AAtest/getMe",
        "https://api.telegram.org/bot999001%3AAAtesttokentesttokentesttoken00001/getMe",
        "token 999001:AAtesttokentesttokentesttoken00001",
    ],
)
def test_a_bot_token_is_known_by_its_shape(text: str) -> None:
    assert "AAtest" not in Redactor().redact(text)
    assert "[REDACTED:telegram]" in Redactor().redact(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Incorrect key provided: sk-proj-SECRETab12cd34", "api_key"),
        ("sk-ant-api03-SECRETxxxxxxx", "anthropic"),
        ("sk-or-v1-SECRET0123456789", "openrouter"),
        ("gsk_SECRET0123456789abcdef", "groq"),
        ("xai-SECRETSECRET01", "xai"),
        ("AIzaSECRET-0123456789_abcdefghijk", "google"),
        ("xoxb-SECRET-0001", "slack"),
        ("xapp-1-SECRET", "slack"),
        ("ghp_SECRET0123456789abcdef", "github"),
        ("AKIASECRETSECRET0123", "aws"),
        ("EAASECRET01234567890123456789", "meta"),
        ("eyJhbGciOiJ.eyJzdWISECRET.SECRETsignature", "jwt"),
        ("SECRETAyMzQ1Njc4OTAxMjM0.Gabcde.SECRET0123456789abcdefghijklm", "discord"),
        ("Authorization: Bearer SECRET.01234", "bearer"),
        ("authorization: basic SECRETdXNlcjpw==", "basic"),
        ("https://user:SECRET@example.org/x", "credentials"),
        ("GET /hook?a=1&hub.verify_token=SECRET&b=2", "parameter"),
        ("GET /v1/models?key=SECRET HTTP/1.1", "parameter"),
        ('{"api_key": "SECRET01"}', "setting"),
        ("app_secret = 'SECRET01'", "setting"),
        ("-----BEGIN RSA PRIVATE KEY-----\nSECRET-\n-----END RSA PRIVATE KEY-----\n", "private_key"),
        ("-----BEGIN PRIVATE KEY-----\nSECRET cut off", "private_key"),
    ],
)
def test_credentials_are_known_by_their_shape(text: str, kind: str) -> None:
    shown = Redactor().redact(text)

    assert "SECRET" not in shown.replace("[REDACTED", "")
    assert f"[REDACTED:{kind}]" in shown


@pytest.mark.parametrize(
    "text",
    [
        "turn.finished turn=5 input_tokens=812 max_tokens=4096 key=chat:17",
        "2026-03-01T09:30:00.000Z took 12:34:56",
        "the task-force met at risk-free rates in src/fermix/domain/authorization.py",
        "http://127.0.0.1:4030/health/ready?verbose=1",
    ],
)
def test_ordinary_lines_hold_no_credential(text: str) -> None:
    assert list(credential_shapes(text)) == []
