"""What a platform's answer means, and that nothing but who we are is asked."""

from typing import Any

import pytest

from fermix.application.operations.doctor.report import RowStatus
from fermix.entrypoints.cli.setup.platforms import judge, questions_of
from fermix.infrastructure.http_client.asking import Reply
from fermix.infrastructure.settings.channels import (
    DiscordSettings,
    SignalSettings,
    SlackSettings,
    TelegramSettings,
    WhatsAppSettings,
)


@pytest.mark.parametrize(
    ("channel", "status", "body"),
    [
        ("telegram", 401, {"ok": False, "error_code": 401}),
        ("telegram", 404, {"ok": False}),
        ("discord", 401, {"message": "401: Unauthorized"}),
        ("slack", 200, {"ok": False, "error": "invalid_auth"}),
        ("whatsapp", 400, {"error": {"code": 190}}),
        ("whatsapp", 401, {}),
    ],
)
def test_credentials_that_are_refused(channel: str, status: int, body: dict[str, Any]) -> None:
    looked = judge(channel, Reply(status=status, body=body))
    assert looked.refused
    assert looked.finding.status is RowStatus.FAIL
    assert "refused the credentials" in looked.finding.sentence


@pytest.mark.parametrize(
    ("channel", "status", "body"),
    [
        ("telegram", 502, {}),
        ("discord", 404, {}),
        ("slack", 200, {"ok": False, "error": "ratelimited"}),
        ("whatsapp", 200, {"error": {"code": 4}}),
        ("discord", 302, {}),
    ],
)
def test_another_error_is_no_refusal(channel: str, status: int, body: dict[str, Any]) -> None:
    looked = judge(channel, Reply(status=status, body=body))
    assert (looked.refused, looked.finding.status) == (False, RowStatus.FAIL)


@pytest.mark.parametrize(
    ("channel", "body", "name"),
    [
        ("telegram", {"ok": True, "result": {"username": "ada_bot"}}, "ada_bot"),
        ("discord", {"username": "ada"}, "ada"),
        ("slack", {"ok": True, "user": "ada"}, "ada"),
        ("whatsapp", {"display_phone_number": "+1 555"}, "+1 555"),
    ],
)
def test_who_is_known_is_named(channel: str, body: dict[str, Any], name: str) -> None:
    looked = judge(channel, Reply(status=200, body=body))
    assert looked.finding.status is RowStatus.OK
    assert looked.finding.sentence.endswith(f"calls us {name}")


def test_each_platform_is_asked_at_its_own_address() -> None:
    asked = questions_of(TelegramSettings.model_validate({"bot_token": "1:A", "api_base_url": "http://h"}))
    assert [one.url for one in asked] == ["http://h/bot1:A/getMe"]
    asked = questions_of(DiscordSettings.model_validate({"bot_token": "t"}))
    assert [(one.url, one.headers["Authorization"]) for one in asked] == [
        ("https://discord.com/api/v10/users/@me", "Bot t")
    ]
    asked = questions_of(
        SlackSettings.model_validate({"bot_token": "xoxb-1", "app_token": "xapp-1", "mode": "socket"})
    )
    assert [(one.url, one.headers["Authorization"]) for one in asked] == [
        ("https://slack.com/api/auth.test", "Bearer xoxb-1"),
        ("https://slack.com/api/apps.connections.open", "Bearer xapp-1"),
    ]
    asked = questions_of(WhatsAppSettings.model_validate({"access_token": "t", "phone_number_id": "77"}))
    assert asked[0].url.startswith("https://graph.facebook.com/v19.0/77?")
    assert questions_of(SignalSettings.model_validate({"account": "+1"})) == ()
    assert questions_of(TelegramSettings()) == ()


def test_no_question_shows_its_credential() -> None:
    (asked,) = questions_of(TelegramSettings.model_validate({"bot_token": "1:secret"}))
    assert "secret" not in repr(asked)
