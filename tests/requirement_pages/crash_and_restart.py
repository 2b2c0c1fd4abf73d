"""Behaviours of the design's crash and restart, first half: what runs again and what does not."""

from tests.requirement_pages.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        id="recovery.awaited_is_interrupted",
        source="design#crash-and-restart 1",
        behaviour=(
            "A turn whose asker waited on the socket when its owner died becomes `interrupted` and is "
            "never run again."
        ),
    ),
    Requirement(
        id="recovery.awaited_client_exits_1",
        source="design#crash-and-restart 1",
        behaviour="An `ask` whose turn was interrupted by a death says so and exits 1.",
    ),
    Requirement(
        id="recovery.unsafe_effect_is_unknown",
        source="design#crash-and-restart 1",
        behaviour=(
            "A started turn with an unsafe effect in the journal becomes `unknown` and is not run again "
            "by itself."
        ),
    ),
    Requirement(
        id="recovery.own_text_is_interrupted",
        source="design#crash-and-restart 1",
        behaviour=(
            "A started turn whose only effects are its own blocks of text becomes `interrupted` and the "
            "reader is told where it was cut off."
        ),
    ),
    Requirement(
        id="recovery.replays_without_effect",
        source="design#crash-and-restart 1",
        behaviour=(
            "A started turn without effect outside the ledger, a draft not counted, is queued again at "
            "its place."
        ),
    ),
    Requirement(
        id="recovery.draft_is_adopted",
        source="design#crash-and-restart 1",
        behaviour="The replay of a turn with a draft edits or deletes that draft and opens no second one.",
    ),
    Requirement(
        id="recovery.at_most_two_replays",
        source="design#crash-and-restart 1",
        behaviour="A turn is replayed at most twice; then it fails with an apology and its lane goes on.",
    ),
    Requirement(
        id="recovery.attempt_counted_before_run",
        source="design#crash-and-restart 1",
        behaviour=(
            "An attempt is on disk before the turn runs, so a message that kills the process is counted."
        ),
    ),
    Requirement(
        id="recovery.journal_keeps_intent_and_outcome",
        source="design#crash-and-restart 1",
        behaviour=(
            "A call that is neither read-only nor repeatable has its intent on disk before it runs and "
            "its outcome after; other calls leave no row."
        ),
    ),
    Requirement(
        id="recovery.unknown_pauses_lane",
        source="design#crash-and-restart 2",
        behaviour="A lane with an `unknown` turn starts no further turn.",
    ),
    Requirement(
        id="recovery.unknown_told_once",
        source="design#crash-and-restart 2",
        behaviour="The user of a paused lane is told once, however often the daemon starts.",
    ),
    Requirement(
        id="recovery.guest_reply_parts_only",
        source="design#crash-and-restart 2",
        behaviour=(
            "A guest's turn whose only effects are its own reply parts becomes `interrupted`, and the "
            "guest is asked to send it again."
        ),
    ),
    Requirement(
        id="recovery.discard_resolves",
        source="design#crash-and-restart 2",
        behaviour=(
            "Discarding an `unknown` turn settles it `interrupted` with a marker, and its followers run."
        ),
    ),
    Requirement(
        id="recovery.retry_resolves",
        source="design#crash-and-restart 2",
        behaviour="Retrying an `unknown` turn queues it at its place with its attempts counted from nothing.",
    ),
    Requirement(
        id="command.discard_and_retry",
        source="design#crash-and-restart 2",
        behaviour="`/discard [ID]` and `/retry [ID]` clear a paused lane from any chat of the owner's.",
    ),
    Requirement(
        id="command.queue_verbs",
        source="design#crash-and-restart 2",
        behaviour="`fermix queue list`, `discard` and `retry` show and clear any lane.",
    ),
    Requirement(
        id="command.new.on_paused_lane",
        source="design#crash-and-restart 2",
        behaviour=(
            "`/new` on a paused lane discards the unknown turn and opens a new window in which the "
            "followers run."
        ),
    ),
    Requirement(
        id="channel.telegram.own_offset",
        source="design#crash-and-restart 3",
        behaviour="Telegram is polled by raw `getUpdates` with our own offset.",
    ),
    Requirement(
        id="channel.telegram.one_odd_update",
        source="design#crash-and-restart 3",
        behaviour=(
            "One update that cannot be read is passed over by itself; its batch goes on and its text is "
            "not logged."
        ),
    ),
    Requirement(
        id="channel.listeners_only_admit",
        source="design#crash-and-restart 3",
        behaviour=(
            "Slack's response follows the admission, and Discord's handler queues the admission before "
            "its first await."
        ),
    ),
    Requirement(
        id="channel.kill_between_handler_and_commit",
        source="design#crash-and-restart 3",
        behaviour=(
            "A death between an adapter's handler and the commit makes the platform offer the message "
            "again, or is a declared gap."
        ),
    ),
    Requirement(
        id="effects.send_is_effect_and_part",
        source="design#crash-and-restart 5",
        behaviour=(
            "A send in mid-turn commits its effect row together with its outbox part, and later its "
            "outcome together with the part's end."
        ),
    ),
    Requirement(
        id="effects.reply_ordinals_follow",
        source="design#crash-and-restart 5",
        behaviour="The parts of the final reply are numbered after those sent in mid-turn.",
    ),
    Requirement(
        id="recovery.kill.before_admission",
        source="design#crash-and-restart",
        behaviour=(
            "A kill before the admission commits leaves nothing behind, and the message is offered again "
            "and answered once."
        ),
    ),
    Requirement(
        id="recovery.kill.after_admission",
        source="design#crash-and-restart",
        behaviour=(
            "A kill after the admission, before its acknowledgement, makes the second offer a duplicate, "
            "and the message is answered once."
        ),
    ),
    Requirement(
        id="recovery.kill.around_claim",
        source="design#crash-and-restart",
        behaviour=(
            "A kill before or after the claim commits replays the turn, and the message is answered once."
        ),
    ),
    Requirement(
        id="recovery.kill.around_settlement",
        source="design#crash-and-restart",
        behaviour=(
            "A kill before or after the settlement loses no answer and makes no second one, marked "
            "repeats excepted."
        ),
    ),
    Requirement(
        id="recovery.kill.around_delivery",
        source="design#crash-and-restart",
        behaviour="A kill before or after the end of a delivery is recorded makes at most one marked repeat.",
    ),
    Requirement(
        id="recovery.kill.settled_ask_is_in_history",
        source="design#crash-and-restart",
        behaviour="An `ask` killed after its settlement finds its answer in the conversation's history.",
    ),
    Requirement(
        id="recovery.kill.stop_stays_stopped",
        source="design#crash-and-restart",
        behaviour=(
            "A kill right after `/stop` has committed leaves everything stopped, and its reply is sent."
        ),
    ),
    Requirement(
        id="recovery.late_settlement_is_refused",
        source="design#crash-and-restart",
        behaviour="A settlement, effect or release by a stale epoch or generation is refused.",
    ),
    Requirement(
        id="recovery.one_owner_per_home",
        source="design#crash-and-restart",
        behaviour="A second owner of a home is refused and told who holds it.",
    ),
)
