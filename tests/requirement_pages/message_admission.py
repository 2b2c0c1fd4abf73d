"""Behaviours of the design's life of a message, first half: from the payload to the synced admission."""

from tests.requirement_pages.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        id="ingress.normalise.channel_is_stamped",
        source="design#the-life-of-a-message 1",
        behaviour=(
            "The gateway writes the channel's name from the adapter's registration; a name in the payload "
            "changes nothing."
        ),
    ),
    Requirement(
        id="ingress.normalise.reserved_channels",
        source="design#the-life-of-a-message 1",
        behaviour=(
            "The names `cli` and `daemon` belong to the control socket; no adapter can be registered "
            "under them."
        ),
    ),
    Requirement(
        id="ingress.normalise.request_cwd_is_local",
        source="design#the-life-of-a-message 1",
        behaviour=(
            "Only the local CLI can set a request working directory; from any other channel it is dropped."
        ),
    ),
    Requirement(
        id="ingress.normalise.facts.of_place_and_sender",
        source="design#the-life-of-a-message 1",
        behaviour=(
            "Account, guild or team, parent channel, chat kind and title, sender ids and aliases, whether "
            "it is a bot, and roles are kept as facts."
        ),
    ),
    Requirement(
        id="ingress.normalise.facts.of_content",
        source="design#the-life-of-a-message 1",
        behaviour=(
            "Mentions, the addressed bot of a command, reply-to, quote, forward, thread, edit flag, "
            "platform time, and the text with and without our mention are kept as facts."
        ),
    ),
    Requirement(
        id="ingress.normalise.attachment_can_be_fetched_again",
        source="design#the-life-of-a-message 1",
        behaviour="An attachment is a reference that can be fetched again; a bare URL is refused.",
    ),
    Requirement(
        id="media.references_per_platform",
        source="design#the-life-of-a-message 1",
        behaviour=(
            "Each adapter refers to media by what fetches it again: file_id, media id, file id, channel "
            "with message and attachment, or a file copied at admission."
        ),
    ),
    Requirement(
        id="ingress.dedupe.swept",
        source="design#the-life-of-a-message 2",
        behaviour="Expired keys are swept out of the memory even when nobody asks for them.",
    ),
    Requirement(
        id="ingress.dedupe.bounded",
        source="design#the-life-of-a-message 2",
        behaviour="The memory holds at most 100,000 keys.",
    ),
    Requirement(
        id="ingress.dedupe.second_waits_for_first",
        source="design#the-life-of-a-message 2",
        behaviour=(
            "A second delivery that arrives while the first is being admitted waits for its result and is "
            "answered like it."
        ),
    ),
    Requirement(
        id="ingress.dedupe.memory_never_acknowledges",
        source="design#the-life-of-a-message 2",
        behaviour=(
            "A key found in memory alone acknowledges nothing: if the first admission fails, its repeat "
            "is not acknowledged either."
        ),
    ),
    Requirement(
        id="ingress.dedupe.ledger_key",
        source="design#the-life-of-a-message 2",
        behaviour=(
            "The ledger holds one row per origin and key, for every channel, across restarts; a second "
            "admission of it is answered `duplicate`."
        ),
        ruling="life of a message 2: polling channels are deduplicated too",
    ),
    Requirement(
        id="ingress.dedupe.generated_ids_are_uuids",
        source="design#the-life-of-a-message 2",
        behaviour="Ids that the product makes for messages are UUIDs, never counters.",
    ),
    Requirement(
        id="ingress.dedupe.platform_keys",
        source="design#the-life-of-a-message 2",
        behaviour=(
            "The key is channel and ts on Slack, chat and message id on Telegram, sender and timestamp on "
            "Signal."
        ),
    ),
    Requirement(
        id="ingress.dedupe.edit_reaction_tap_have_keys",
        source="design#the-life-of-a-message 2",
        behaviour="An edit, a reaction and a tap have keys of their own and are not swallowed as repeats.",
    ),
    Requirement(
        id="ingress.authorise.refused_lately",
        source="design#the-life-of-a-message 3",
        behaviour="The last 50 refusals are kept in memory for the doctor and in no file.",
    ),
    Requirement(
        id="ingress.authorise.doctor_shows_refused",
        source="design#the-life-of-a-message 3",
        behaviour="`fermix doctor` shows who was refused lately.",
    ),
    Requirement(
        id="ingress.admit_chat.three_outcomes",
        source="design#the-life-of-a-message 4",
        behaviour=(
            "One pure stage says of a message in a shared chat whether it is admitted, context only or "
            "dropped."
        ),
    ),
    Requirement(
        id="ingress.admit_chat.direct_is_admitted",
        source="design#the-life-of-a-message 4",
        behaviour="A direct message of an allowed sender is admitted on every channel.",
    ),
    Requirement(
        id="ingress.admit_chat.slack_and_discord_need_mention",
        source="design#the-life-of-a-message 4",
        behaviour=(
            "In a shared chat of Slack or Discord, a thread of it too, a message without our mention is "
            "dropped and one with it is admitted."
        ),
    ),
    Requirement(
        id="ingress.admit_chat.others_admit_every_message",
        source="design#the-life-of-a-message 4",
        behaviour="In a group of Telegram, WhatsApp or Signal each message of an allowed sender is admitted.",
    ),
    Requirement(
        id="ingress.admit_chat.dropped_stores_nothing",
        source="design#the-life-of-a-message 4",
        behaviour="A dropped message is acknowledged, stored nowhere and answered by nobody.",
    ),
    Requirement(
        id="ingress.admit_chat.slack_root_mention_opens_thread",
        source="design#the-life-of-a-message 4",
        behaviour="A Slack mention at a channel's root gets a route whose thread is the message's own ts.",
    ),
    Requirement(
        id="ingress.admit_chat.adapters_do_not_filter",
        source="design#the-life-of-a-message 4",
        behaviour="An adapter hands on messages without a mention; only the stage judges them.",
    ),
    Requirement(
        id="ingress.admit_chat.group_policy",
        source="design#the-life-of-a-message 4",
        behaviour="The full group policy decides in this stage, and no other stage knows of it.",
    ),
    Requirement(
        id="ingress.admit.synced_before_acknowledge",
        source="design#the-life-of-a-message 6",
        behaviour=(
            "No transport is acknowledged, and no polling offset moved, before a synced transaction holds "
            "the message."
        ),
    ),
    Requirement(
        id="ingress.admit.one_list_one_transaction",
        source="design#the-life-of-a-message 6",
        behaviour="The messages of one poll are admitted in one transaction, in their order.",
    ),
    Requirement(
        id="ingress.admit.kinds",
        source="design#the-life-of-a-message 6",
        behaviour="What is admitted is an input, a command or context, and the ledger's row says which.",
    ),
    Requirement(
        id="ingress.admit.input_takes_its_place",
        source="design#the-life-of-a-message 6",
        behaviour=(
            "An input takes its place in the lane at admission, whatever is still to be prepared for it."
        ),
    ),
    Requirement(
        id="command.ahead_of_queue",
        source="design#the-life-of-a-message 6",
        behaviour="A command, `/stop` among them, runs without waiting for the turns of its conversation.",
    ),
    Requirement(
        id="command.in_a_task_of_the_gateway",
        source="design#the-life-of-a-message 6",
        behaviour=(
            "A slow command does not hold the transport's loop: the next message is accepted meanwhile."
        ),
    ),
    Requirement(
        id="command.in_text_or_caption",
        source="design#the-life-of-a-message 6",
        behaviour=(
            "A text or a caption whose first word is `/` and the name of a command runs that command and "
            "no turn."
        ),
        ruling="where the documents disagree: /stop works as a caption too",
    ),
    Requirement(
        id="command.has_a_row_first",
        source="design#the-life-of-a-message 6",
        behaviour=(
            "A command has a row under its message's unique key before it is acknowledged, so its repeat "
            "runs nothing."
        ),
    ),
    Requirement(
        id="command.ledger_work_commits_with_row",
        source="design#the-life-of-a-message 6",
        behaviour="The work of `/new` and `/stop` and the row of the command commit in one transaction.",
    ),
    Requirement(
        id="command.discard_and_retry_commit_with_row",
        source="design#the-life-of-a-message 6",
        behaviour="The work of `/discard` and `/retry` commits with the row of the command.",
    ),
    Requirement(
        id="command.outside_work_is_reported_not_repeated",
        source="design#the-life-of-a-message 6",
        behaviour=(
            "A command whose work lies outside the ledger and that died in between is reported to its "
            "sender and not run again."
        ),
    ),
    Requirement(
        id="command.checked_again_after_transcription",
        source="design#the-life-of-a-message 6",
        behaviour="For audio the command check is made once more on the transcript.",
    ),
    Requirement(
        id="limits.per_conversation",
        source="design#the-life-of-a-message 6",
        behaviour="At most 200 messages wait in one conversation; the number is configurable.",
    ),
    Requirement(
        id="limits.in_all",
        source="design#the-life-of-a-message 6",
        behaviour="At most 2,000 messages wait in all; the number is configurable.",
    ),
    Requirement(
        id="limits.honest_reply",
        source="design#the-life-of-a-message 6",
        behaviour=(
            "A message beyond the conversation's limit is not stored and its sender is told that too much "
            "is waiting."
        ),
    ),
    Requirement(
        id="limits.reply_once_per_episode",
        source="design#the-life-of-a-message 6",
        behaviour=(
            "The too-much-waiting reply is sent once per conversation until its queue has had room again."
        ),
    ),
    Requirement(
        id="limits.pull_transport_stops_polling",
        source="design#the-life-of-a-message 6",
        behaviour=(
            "At the total limit the inbox answers `full`, and a pull transport keeps its offset and waits "
            "instead of replying."
        ),
    ),
    Requirement(
        id="limits.commands_pass",
        source="design#the-life-of-a-message 6",
        behaviour="A full queue does not keep `/stop` from running.",
    ),
    Requirement(
        id="edit.never_a_new_turn",
        source="design#the-life-of-a-message",
        behaviour="An edited message never starts a second turn.",
        ruling="where the documents disagree: edited messages",
    ),
    Requirement(
        id="edit.replaces_while_queued",
        source="design#the-life-of-a-message",
        behaviour=(
            "An edit that arrives while its message is queued replaces the text that the turn will see."
        ),
        ruling="where the documents disagree: edited messages",
    ),
    Requirement(
        id="edit.noted_later",
        source="design#the-life-of-a-message",
        behaviour="An edit that arrives after its turn started is noted in history.",
        ruling="where the documents disagree: edited messages",
    ),
    Requirement(
        id="edit.command_changes_nothing",
        source="design#the-life-of-a-message",
        behaviour="An edit that is or was a command changes nothing.",
        ruling="where the documents disagree: edited messages",
    ),
)
