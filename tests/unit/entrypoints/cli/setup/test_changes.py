"""From answers to changes of the file: who becomes primary, what is enabled, what goes."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.entrypoints.cli.setup.answers import (
    Answers,
    ChannelAnswer,
    ProviderAnswer,
    TranscriptionAnswer,
)
from fermix.entrypoints.cli.setup.changes import Put, Take, applied, plan, secrets_in
from fermix.entrypoints.cli.setup.present import Present
from fermix.infrastructure.settings.keys import check_keys
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.rules import check_rules

OPENAI = ("fermix_core", "providers", "openai")
XAI = ("fermix_core", "providers", "xai")
SPEECH = ("fermix_core", "transcription")


def present(text: str) -> Present:
    return Present(table=tomllib.loads(text))


def after(text: str, answers: Answers) -> dict[str, object]:
    """What the file says when the answers were saved in it."""
    sentinels = dict.fromkeys(secrets_in(answers), "@file")
    return tomllib.loads(applied(text, plan(answers, present(text)), sentinels))


def test_the_first_provider_becomes_primary_and_its_key_is_a_secret() -> None:
    answers = Answers(providers=(ProviderAnswer(name="openai", api_key="k"),))
    assert plan(answers, Present()) == (
        Put(path=(*OPENAI, "api_key"), value="k", secret=True),
        Put(path=(*OPENAI, "primary"), value=True),
    )
    assert after("", answers) == {
        "fermix_core": {"providers": {"openai": {"api_key": "@file", "primary": True}}}
    }


@pytest.mark.parametrize(
    "text",
    [
        '[fermix_core.providers.openai]\napi_key = "k"\n',
        "[fermix_core.providers.openai]\nprimary = true\n",
        '[fermix_core.providers.openai]\napi_key = "@keyring"\n',
        '[fermix_core.agent]\nprovider = "openai"\n',
    ],
)
def test_a_later_provider_does_not_take_over(text: str) -> None:
    answers = Answers(providers=(ProviderAnswer(name="xai", api_key="k"),))
    assert plan(answers, present(text)) == (Put(path=(*XAI, "api_key"), value="k", secret=True),)


def test_a_later_provider_that_is_chosen_takes_over() -> None:
    before = present('[fermix_core.providers.openai]\napi_key = "k"\nprimary = true\n')
    answers = Answers(providers=(ProviderAnswer(name="xai", chosen=True),))
    assert plan(answers, before) == (
        Take(path=(*OPENAI, "primary")),
        Put(path=(*XAI, "primary"), value=True),
    )


def test_a_key_takes_the_place_of_a_subscription() -> None:
    before = present('[fermix_core.providers.openai]\nauth_mode = "oauth"\nprimary = true\n')
    answers = Answers(providers=(ProviderAnswer(name="openai", api_key="k"),))
    assert Take(path=(*OPENAI, "auth_mode")) in plan(answers, before)


def test_what_is_so_already_is_no_change() -> None:
    text = '[fermix_core.providers.openai]\ndefault_model = "m"\nprimary = true\n'
    answers = Answers(providers=(ProviderAnswer(name="openai", default_model="m", chosen=True),))
    assert plan(answers, present(text)) == ()
    owner = Answers(channels=(ChannelAnswer(name="telegram", values={"owner_user_id": "1001"}),))
    assert plan(owner, present("[fermix_channels.telegram]\nowner_user_id = 1001\n")) == ()


def test_a_channel_is_enabled_when_all_that_it_needs_is_there() -> None:
    token = ChannelAnswer(name="slack", values={"bot_token": "xoxb-1"})
    place = ("fermix_channels", "slack")
    assert Put(path=(*place, "enabled"), value=True) not in plan(Answers(channels=(token,)), Present())
    set_up = present('[fermix_channels.slack]\nsigning_secret = "@keyring"\nenabled = false\n')
    assert Put(path=(*place, "enabled"), value=True) in plan(Answers(channels=(token,)), set_up)
    by_variable = Present(variables={(*place, "signing_secret"): "SLACK_SIGNING_SECRET"})
    assert Put(path=(*place, "enabled"), value=True) in plan(Answers(channels=(token,)), by_variable)


def test_telegram_is_enabled_by_itself_unless_it_was_switched_off() -> None:
    token = Answers(channels=(ChannelAnswer(name="telegram", values={"bot_token": "1:A"}),))
    enabled = Put(path=("fermix_channels", "telegram", "enabled"), value=True)
    assert enabled not in plan(token, Present())
    assert enabled in plan(token, present("[fermix_channels.telegram]\nenabled = false\n"))


def test_another_backend_leaves_nothing_of_the_one_before() -> None:
    before = present(
        '[fermix_core.transcription]\nbackend = "openai"\nmodel = "m"\nbase_url = "http://h/v1"\n'
    )
    told = Answers(transcription=TranscriptionAnswer(backend="deepgram", api_key="k"))
    assert plan(told, before) == (
        Put(path=(*SPEECH, "backend"), value="deepgram"),
        Put(path=(*SPEECH, "deepgram_api_key"), value="k", secret=True),
        Take(path=(*SPEECH, "model")),
        Take(path=(*SPEECH, "base_url")),
    )
    nobody = Answers(transcription=TranscriptionAnswer(backend=None))
    assert plan(nobody, Present()) == ()


def test_comments_and_other_sections_stay() -> None:
    text = "# mine\n[fermix_web]\nport = 5000 # here\n"
    answers = Answers(providers=(ProviderAnswer(name="openai", api_key="k"),))
    edited = applied(text, plan(answers, present(text)), {(*OPENAI, "api_key"): "@keyring"})
    assert edited.startswith(text)


names = st.sampled_from(["openai", "xai", "mistral", "mine"])
providers = st.builds(
    ProviderAnswer,
    name=names,
    api_key=st.none() | st.just("k"),
    base_url=st.just("http://127.0.0.1:1/v1"),
    default_model=st.just("m"),
    chosen=st.booleans(),
)
speech = st.builds(
    TranscriptionAnswer,
    backend=st.sampled_from([None, "local", "xai"]),
)
answered = st.builds(
    Answers,
    providers=st.lists(providers, max_size=3, unique_by=lambda one: one.name).map(tuple),
    transcription=st.none() | speech,
)


@given(st.lists(answered, max_size=4))
def test_whatever_is_answered_in_whatever_order_the_file_loads_and_one_provider_at_most_is_primary(
    runs: list[Answers],
) -> None:
    text = "# kept\n[fermix_web]\nport = 5000\n"
    for answers in runs:
        sentinels = dict.fromkeys(secrets_in(answers), "@file")
        text = applied(text, plan(answers, present(text)), sentinels)
        # A second time nothing but secrets is left to do.
        again = plan(answers, present(text))
        assert all(isinstance(change, Put) and change.secret for change in again)
    table = tomllib.loads(text)
    checked = check_keys(table, Settings, channels={})
    assert checked.findings == ()
    assert check_rules(table, {}) == []
    assert table["fermix_web"] == {"port": 5000}
    assert text.startswith("# kept\n")
    found = table.get("fermix_core", {}).get("providers", {})
    assert not found or sum(one.get("primary") is True for one in found.values()) == 1
