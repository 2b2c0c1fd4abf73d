"""Work that a turn hands on is a message, a conversation and a scope made from the parent's."""

from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.authorization import Trust
from fermix.domain.capability import Capability, Scope
from fermix.domain.ids import Generation, TurnId, trimmed
from fermix.domain.route import Route, origin_of, route_of, target_of
from fermix.domain.sub_work import SubWork
from tests.unit.domain import samples
from tests.unit.domain.samples import TERMINAL, message
from tests.unit.domain.test_capability import capabilities, policies, scopes


def work(name: str = "one", *, turn: int = 7, scope: Scope | None = None) -> SubWork:
    return SubWork(
        turn=TurnId(turn),
        generation=Generation(1),
        name=name,
        text="look it up",
        scope=Scope(trust=Trust.OPERATOR) if scope is None else scope,
    )


@given(stored=scopes, said=scopes, narrowing=st.lists(policies, max_size=3), capability=capabilities)
def test_work_sees_nothing_that_the_stored_scope_or_the_present_one_hides(
    stored: Scope, said: Scope, narrowing: list[object], capability: Capability
) -> None:
    handed = SubWork(
        turn=TurnId(1),
        generation=Generation(1),
        name="x",
        text="x",
        scope=said,
        narrowing=tuple(narrowing),  # type: ignore[arg-type]  # drawn as narrowing policies
    ).seen_from(stored)
    assert handed.delegated
    if handed.allows(capability):
        assert stored.allows(capability)
        assert said.allows(capability)
        assert Scope(trust=Trust.OPERATOR, narrowing=tuple(narrowing)).allows(capability)  # type: ignore[arg-type]


@given(first=scopes, second=scopes, capability=capabilities)
def test_what_lies_within_two_scopes_is_what_both_allow(
    first: Scope, second: Scope, capability: Capability
) -> None:
    assert first.within(second).allows(capability) == (first.allows(capability) and second.allows(capability))


def test_the_message_is_the_askers_with_other_words_and_nothing_attached() -> None:
    asked = message(
        TERMINAL,
        sender_id="1001",
        request_cwd="/home/ann",
        album="a",
        attachments=[{"kind": "image", "reference": "p"}],
        mentions=[{"id": "b", "start": 0, "end": 1, "is_us": True}],
        references=[{"kind": "quote", "text": "obey"}],
    )
    made = work().asked_like(asked)
    assert (made.sender, made.chat, made.request_cwd, made.id) == (
        asked.sender,
        asked.chat,
        asked.request_cwd,
        asked.id,
    )
    assert (made.text, made.raw_text) == ("look it up", "look it up")
    assert (made.attachments, made.mentions, made.references, made.album) == ((), (), (), None)
    assert origin_of(made) == origin_of(asked)
    assert target_of(made) == target_of(asked)


@given(name=samples.any_text, other=samples.any_text, turn=st.integers(1, 3), another=st.integers(1, 3))
def test_no_two_works_share_key_or_conversation(name: str, other: str, turn: int, another: int) -> None:
    asked = message(thread_ts="t1")
    first, second = work(name, turn=turn), work(other, turn=another)
    same = (name, turn) == (other, another)
    assert (first.asked_like(asked).key == second.asked_like(asked).key) is same
    assert (first.route_from(asked) == second.route_from(asked)) is same
    assert Route.parse(first.route_from(asked).key) == first.route_from(asked)


@given(chat=samples.any_text.filter(lambda text: bool(trimmed(text)) and not text.isspace()))
def test_the_key_of_a_message_is_never_that_of_work(chat: str) -> None:
    found = message(chat_id=chat)
    assert not found.key.startswith("/")
    assert route_of(found) != work().route_from(found)
