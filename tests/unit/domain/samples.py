"""Values the domain's tests start from, and strategies for what comes from outside."""

from typing import Any

from hypothesis import strategies as st

from fermix.domain.ids import AccountId, ChannelName
from fermix.domain.message import InboundMessage
from fermix.domain.normalise import Registration, normalise

TELEGRAM = Registration(channel=ChannelName("telegram"), account=AccountId("5000"))
SLACK = Registration(channel=ChannelName("slack"), account=AccountId("T1"))
TERMINAL = Registration(channel=ChannelName("cli"), account=AccountId("local"), local=True)

LARGEST_STORED = 2**63 - 1
"""The largest number that fits a row of the ledger."""

awkward = st.sampled_from('\ud800\udfff\x00\x1b\x85\u2028\u202e\u200b\ufeff\n\r\t /@|[]{}"\\%:é🦊')
any_text = st.text(awkward | st.characters(codec=None))
"""Text with everything Python can hold, the awkward often: controls, other planes, lone surrogates."""

ids = st.sampled_from(["1001", "2002", "3003", "4004", "U0AB", "owner", "1", "10"])
"""Few enough that random picks meet."""


def raw(**facts: Any) -> dict[str, Any]:
    """What an adapter hands over at least, with more facts or others."""
    return {"id": 7, "content": "hello", "sender": "Ann", "chat_id": 42, "reply_target": 42} | facts


def message(registration: Registration = TELEGRAM, **facts: Any) -> InboundMessage:
    """A normalised message."""
    found = normalise(raw(**facts), registration)
    assert isinstance(found, InboundMessage), found
    return found
