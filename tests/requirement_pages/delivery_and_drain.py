"""Behaviours of the design's crash and restart, second half: sends, drain, retention, disks."""

from tests.requirement_pages.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        id="deliver.only_the_outbox_sends_again",
        source="design#crash-and-restart 4",
        behaviour="A send is tried again by the outbox alone; adapters and client libraries do not retry.",
    ),
    Requirement(
        id="turn.only_the_chain_asks_again",
        source="design#crash-and-restart 4",
        behaviour=(
            "A model is asked again by the provider chain alone: the client library makes one request per "
            "call."
        ),
    ),
    Requirement(
        id="deliver.nonce_is_stable",
        source="design#crash-and-restart 4",
        behaviour="A part carries the same nonce in all its tries.",
    ),
    Requirement(
        id="channel.discord.enforced_nonce",
        source="design#crash-and-restart 4",
        behaviour="Every Discord send carries an enforced nonce.",
    ),
    Requirement(
        id="deliver.three_attempts",
        source="design#crash-and-restart 4",
        behaviour="A part that may have left or was refused is tried three times, then it has failed.",
    ),
    Requirement(
        id="deliver.not_left_is_tried_longer",
        source="design#crash-and-restart 4",
        behaviour="A part that did not leave is tried for 24 hours and uses none of its three attempts.",
    ),
    Requirement(
        id="deliver.backoff",
        source="design#crash-and-restart 4",
        behaviour=(
            "The waits between tries grow from 1 to 60 seconds, unless the platform names its own wait."
        ),
    ),
    Requirement(
        id="deliver.repeat_is_marked",
        source="design#crash-and-restart 4",
        behaviour=(
            "A part that was on its way at a death leaves once more with the first line `(possibly sent "
            "before)`; every other part leaves once, unmarked."
        ),
    ),
    Requirement(
        id="deliver.unmarked_repeats",
        source="design#crash-and-restart 4",
        behaviour=(
            "A repeat carries no mark where the platform enforces nonces and the first try is less than 2 "
            "minutes old, or where it edits a sealed draft."
        ),
    ),
    Requirement(
        id="deliver.mark_fits_the_cap",
        source="design#crash-and-restart 4",
        behaviour="The mark never takes the first part over the channel's cap.",
    ),
    Requirement(
        id="deliver.unadmitted_reply_goes_once",
        source="design#crash-and-restart 4",
        behaviour=(
            "A reply to what was not admitted (looks empty, too much waiting, restart) is sent once, "
            "without a row; its failure is logged."
        ),
    ),
    Requirement(
        id="deliver.unadmitted_reply_keeps_pace",
        source="design#crash-and-restart 4",
        behaviour="A reply to what was not admitted passes the same pace limits as any other.",
    ),
    Requirement(
        id="channel.discord.catch_up",
        source="design#crash-and-restart 6",
        behaviour=(
            "After a start Discord's known chats are read from the cursor, at most 24 hours and 100 "
            "messages each."
        ),
    ),
    Requirement(
        id="channel.signal.commit_before_next_line",
        source="design#crash-and-restart 6",
        behaviour="Each line of signal-cli is committed before the next is read.",
    ),
    Requirement(
        id="drain.stops_accepting",
        source="design#crash-and-restart 7",
        behaviour="After SIGTERM no further message is accepted.",
    ),
    Requirement(
        id="drain.running_turns_finish",
        source="design#crash-and-restart 7",
        behaviour="After SIGTERM running turns may finish within the grace period (20 s) and are delivered.",
    ),
    Requirement(
        id="drain.rest_goes_back",
        source="design#crash-and-restart 7",
        behaviour=(
            "A turn without effect that outlasts the grace period goes back to the queue and its attempt "
            "is taken back."
        ),
    ),
    Requirement(
        id="drain.effects_and_awaited_are_interrupted",
        source="design#crash-and-restart 7",
        behaviour=(
            "A turn with effects, or awaited, that outlasts the grace period settles `interrupted` and "
            "its sender is told."
        ),
    ),
    Requirement(
        id="drain.exits_0",
        source="design#crash-and-restart 7",
        behaviour="A drained daemon exits 0.",
    ),
    Requirement(
        id="retention.payload_goes_at_settlement",
        source="design#crash-and-restart 8",
        behaviour="The payload of a message is emptied when its turn settles.",
    ),
    Requirement(
        id="retention.kept_for_unknown_and_failed",
        source="design#crash-and-restart 8",
        behaviour="The payloads of unknown and failed turns are kept for 7 days.",
    ),
    Requirement(
        id="retention.retry_of_a_failed_turn",
        source="design#crash-and-restart 8",
        behaviour="`/retry ID` takes a failed turn within those days, as a new turn at the lane's end.",
    ),
    Requirement(
        id="retention.sent_parts",
        source="design#crash-and-restart 8",
        behaviour="Sent parts are swept after `keep_sent_days` (7).",
    ),
    Requirement(
        id="retention.keys",
        source="design#crash-and-restart 8",
        behaviour=(
            "Keys are swept after `keep_keys_days` (30) with their settled turns; history, lanes, routes "
            "and cursors stay."
        ),
    ),
    Requirement(
        id="retention.media_with_its_last_row",
        source="design#crash-and-restart 8",
        behaviour="A stored media file goes with the last row that names it.",
    ),
    Requirement(
        id="retention.logs_rotate",
        source="design#crash-and-restart 8",
        behaviour="Logs and traces rotate.",
    ),
    Requirement(
        id="home.modes",
        source="design#crash-and-restart 8",
        behaviour="The home has mode 0700 and its files 0600.",
    ),
    Requirement(
        id="disk_full.no_acknowledgement",
        source="design#crash-and-restart 8",
        behaviour="On a full disk nothing is acknowledged, so the platform offers the message again.",
    ),
    Requirement(
        id="disk_full.degraded_until_space_returns",
        source="design#crash-and-restart 8",
        behaviour=(
            "On a full disk readiness is `degraded`; when space returns, admission goes on without a restart."
        ),
    ),
    Requirement(
        id="io_error.ends_the_process",
        source="design#crash-and-restart 8",
        behaviour=(
            "An I/O error at a commit answers every caller that the outcome is unknown and ends the process."
        ),
    ),
)
