"""What none of us wrote and our adapters are held against, and the test that drives each part of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType


class Drives(Enum):
    """What a proof has to drive, where the other side has it."""

    RECEIVE = "receive"
    SEND = "send"
    MEDIA = "media"
    ERROR = "error"
    RECONNECT = "reconnect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """One library or program of others.

    Attributes:
        channel: the adapter that is held against it.
        library: as it is called where it is had from, with its version.
        needs: what the machine must have for it; missing, its tests are skipped, or fail where nothing may be.
        module: of its tests, beside this one.
        python: the first version of Python that the library runs on; before it, its tests are not looked at.
        tests: the tests that drive a part.
        cannot: the parts that the other side has not, and why.
    """

    channel: str
    library: str
    needs: str
    module: str
    tests: Mapping[Drives, tuple[str, ...]]
    python: tuple[int, int] = (3, 11)
    cannot: Mapping[Drives, str] = field(default_factory=lambda: MappingProxyType({}))


PROOFS = (
    Proof(
        channel="discord",
        library="simcord>=3.2",
        needs="package:simcord",
        module="test_simcord",
        tests={
            Drives.RECEIVE: (
                "test_what_people_write_arrives_with_its_facts",
                "test_an_edit_is_told_and_what_we_and_bots_do_starts_nothing",
                "test_our_commands_are_ones_that_simcord_registers_and_one_is_answered_in_time",
            ),
            Drives.SEND: (
                "test_a_text_is_kept_as_it_was_said_and_calls_nobody",
                "test_drafts_reactions_and_typing_are_taken",
            ),
            Drives.MEDIA: ("test_a_file_goes_both_ways_whole",),
            Drives.ERROR: (
                "test_a_refusal_is_told_by_its_remedy_and_the_next_part_is_sent",
                "test_simcord_refuses_by_itself_what_discord_refuses",
            ),
            Drives.RECONNECT: ("test_a_broken_line_goes_on_where_it_was_and_a_lost_session_is_read_back",),
        },
    ),
    Proof(
        channel="slack",
        library="slack_sdk>=3.35",
        needs="package:slack_sdk",
        module="test_slack_sdk",
        tests={
            Drives.RECEIVE: (
                "test_both_believe_the_same_signatures",
                "test_our_fake_slack_signs_as_slack_does",
                "test_their_line_hears_acknowledges_and_is_renewed",
            ),
            Drives.SEND: ("test_both_send_the_same",),
            Drives.MEDIA: ("test_both_upload_and_fetch_files_of_each_other",),
            Drives.ERROR: ("test_both_are_refused_alike",),
            Drives.RECONNECT: ("test_their_line_hears_acknowledges_and_is_renewed",),
        },
    ),
    Proof(
        channel="whatsapp",
        library="pywa>=4.5",
        needs="package:pywa_async",
        module="test_pywa",
        tests={
            Drives.RECEIVE: (
                "test_both_read_the_same_in_a_message",
                "test_both_read_the_same_in_what_became_of_a_message",
                "test_both_judge_signatures_and_challenges_alike",
            ),
            Drives.SEND: ("test_both_send_the_same",),
            Drives.MEDIA: ("test_both_upload_and_fetch_files_of_each_other",),
            Drives.ERROR: ("test_both_sort_an_error_alike",),
            Drives.RECONNECT: ("test_an_error_of_our_server_is_one_to_them_and_they_come_back_when_it_does",),
        },
    ),
    Proof(
        channel="signal",
        library="signal-cli 0.13",
        needs="program:signal-cli",
        module="test_signal_cli",
        tests={
            Drives.ERROR: (
                "test_it_speaks_as_the_adapter_does",
                "test_an_account_that_it_does_not_know_is_told",
                "test_another_process_on_the_account_is_told",
                "test_our_fake_program_refuses_as_the_real_one_does",
            ),
            Drives.RECONNECT: ("test_killed_it_is_started_again",),
        },
        cannot={
            Drives.RECEIVE: "what people write comes from Signal's own servers, which no test may reach",
            Drives.SEND: "a message leaves for Signal's own servers; up to its refusal it is driven as an error",
            Drives.MEDIA: "files travel with messages",
        },
    ),
    Proof(
        channel="telegram",
        library="tg-auto-test>=1.3; python_version >= '3.12'",
        needs="package:tg_auto_test",
        module="test_tg_auto_test",
        python=(3, 12),
        tests={
            Drives.RECEIVE: (
                "test_what_a_person_writes_arrives",
                "test_our_commands_are_put_into_its_menu",
            ),
            Drives.SEND: ("test_a_text_is_shown_with_its_formatting_and_can_be_changed",),
            Drives.MEDIA: ("test_files_go_both_ways_whole",),
        },
        cannot={
            Drives.ERROR: "it takes whatever it knows, too long or not, and refuses nothing",
            Drives.RECONNECT: "it lives inside a bot's process and has no line that could break",
        },
    ),
)
