"""Accounts that stand for many people let nobody in, whatever the owner's lists say."""

from typing import Any

import pytest
from telegram import Update

from fermix.application.gateway.dedupe import WebhookMemory
from fermix.application.gateway.stages import Candidate, Denied, Door, Ended, Passed, walk
from fermix.application.ports.channel import ChannelFeatures, Offered
from fermix.domain.authorization import ChannelAccess, Policies
from fermix.domain.ids import AccountId, ChannelName, UserId
from fermix.domain.normalise import Registration
from fermix.infrastructure.channels.telegram.wire_in import OurBot, read_update
from fermix.infrastructure.settings.channels import TelegramSettings
from fermix.infrastructure.settings.policies import access_of
from fermix.testing.clock import StoppedClock

TELEGRAM = ChannelName("telegram")
US = OurBot(id=777, name="fermix_test_bot")
GROUP = {"id": -100300, "type": "supergroup", "title": "Friends"}
NEWS = {"id": -100900, "type": "channel", "title": "News"}
SERVICE = {"id": 777000, "is_bot": False, "first_name": "Telegram"}
CHANNEL_BOT = {"id": 136817688, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"}
GROUP_BOT = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}

SHARED: dict[str, dict[str, Any]] = {
    "an anonymous admin": {"from": GROUP_BOT, "sender_chat": GROUP},
    "somebody writing as their channel": {"from": CHANNEL_BOT, "sender_chat": NEWS},
    "a post of the linked channel": {"from": SERVICE, "sender_chat": NEWS, "is_automatic_forward": True},
    "a post without its author": {"from": SERVICE, "sender_chat": NEWS, "author_signature": "Olga"},
}


def ending(access: ChannelAccess, text: str, facts: dict[str, Any]) -> object:
    raw = {"message_id": 5, "date": 1_700_000_000, "chat": GROUP, "text": text, **facts}
    found = Update.de_json({"update_id": 1, "message": raw}, None)
    assert found is not None
    written = read_update(found, US)
    assert written is not None
    step = walk(
        Candidate(
            door=Door(
                registration=Registration(channel=TELEGRAM, account=AccountId("777")),
                features=ChannelFeatures(),
            ),
            offered=Offered(message=written),
            policies=Policies(channels={TELEGRAM: access}),
            memory=WebhookMemory(StoppedClock()),
        )
    )
    assert isinstance(step, Ended)
    return step.ending


@pytest.mark.requirement("ingress.authorise.everyone_else_is_unauthorized")
@pytest.mark.parametrize("text", ["hello", "/stop", "/whoami"])
@pytest.mark.parametrize("who", SHARED)
def test_who_hides_behind_a_shared_account_is_nobody(who: str, text: str) -> None:
    strict = ChannelAccess(owner=UserId("1001"), allowed=frozenset({UserId("2002")}))
    assert isinstance(ending(strict, text, SHARED[who]), Denied)


@pytest.mark.parametrize("text", ["hello", "/stop", "/whoami"])
@pytest.mark.parametrize("who", SHARED)
def test_a_list_with_every_id_of_theirs_lets_them_start_nothing(who: str, text: str) -> None:
    ids = frozenset(UserId(i) for i in ("777000", "136817688", "1087968824", "-100300", "-100900"))
    for access in (ChannelAccess(allowed=ids), *(ChannelAccess(owner=each) for each in ids)):
        assert isinstance(ending(access, text, SHARED[who]), Denied | Passed)


@pytest.mark.parametrize("shared", [777000, 136817688, 1087968824, "777000", " 1087968824 "])
def test_a_shared_account_in_a_list_is_odd_and_matches_nobody(shared: str | int) -> None:
    settings = TelegramSettings.model_validate(
        {"owner_user_id": shared, "allowed_user_ids": [shared], "command_allowlist": [shared]}
    )
    assert access_of(settings) == ChannelAccess()
    assert not settings.has_access
    assert settings.odd_entries == (str(shared).strip(),) * 3


@pytest.mark.parametrize("real", ["777001", "1777000", "7770001", "10879688240", "136817689"])
def test_an_account_whose_id_only_resembles_a_shared_one_is_its_own(real: str) -> None:
    assert TelegramSettings.model_validate({"owner_user_id": real}).owner == real
