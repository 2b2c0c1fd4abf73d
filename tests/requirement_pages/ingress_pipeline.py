"""Behaviours of the page on ingress and trust: what happens to a message from its arrival to its lane."""

from tests.requirement_pages.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        id="ingress.order_is_pinned",
        source="ingress-and-trust#the-gateway-pipeline",
        behaviour=(
            "The stages run as one named list: normalise, dedupe, authorise, admit chat, empty, admit; "
            "the list is pinned by a test."
        ),
        ruling="life of a message: the picture's order, chat admission and ledger dedupe included",
    ),
    Requirement(
        id="ingress.single_entry",
        source="ingress-and-trust#the-gateway-pipeline",
        behaviour=(
            "Every inbound message, of whatever channel, passes the same gateway; no adapter reaches the "
            "lanes or the agent in another way."
        ),
    ),
    Requirement(
        id="ingress.normalise.required_fields",
        source="ingress-and-trust#the-gateway-pipeline 1",
        behaviour=(
            "A payload in which id, content, sender, channel, chat_id or reply_target is missing or of a "
            "wrong type gives `invalid_message` with the first such field in that order."
        ),
        ruling=(
            "life of a message 1: a wrong type counts as missing; the channel is stamped, so it is never "
            "missing"
        ),
    ),
    Requirement(
        id="ingress.normalise.dropped_with_one_error_line",
        source="ingress-and-trust#the-gateway-pipeline 1",
        behaviour=(
            "An invalid payload is dropped and leaves exactly one log line, at error level, naming the field."
        ),
    ),
    Requirement(
        id="ingress.authorise.denied_is_silent",
        source="ingress-and-trust#the-gateway-pipeline 2",
        behaviour="A refused sender gets no reply; the transport is told to acknowledge as if all were well.",
    ),
    Requirement(
        id="ingress.authorise.denied_is_warned",
        source="ingress-and-trust#the-gateway-pipeline 2",
        behaviour=(
            "A refusal leaves one warning that quotes the refused ids so that text of the sender cannot "
            "forge a log line."
        ),
        ruling="life of a message 3",
    ),
    Requirement(
        id="ingress.authorise.denied_leaves_nothing",
        source="ingress-and-trust#the-gateway-pipeline 2",
        behaviour=(
            "After a refusal no command, no download and no turn happens, and the ledger holds no row of it."
        ),
    ),
    Requirement(
        id="ingress.reply_path.answers_any_stage",
        source="ingress-and-trust#the-gateway-pipeline 3",
        behaviour=(
            "Each stage behind authorisation can answer the sender in the chat and thread the message "
            "came from."
        ),
    ),
    Requirement(
        id="media.transcription.with_or_without_caption",
        source="ingress-and-trust#the-gateway-pipeline 4",
        behaviour=(
            "An audio attachment is transcribed with and without a caption, before the message is judged "
            "empty."
        ),
    ),
    Requirement(
        id="media.transcription.caption_first",
        source="ingress-and-trust#the-gateway-pipeline 4",
        behaviour=(
            "With a caption, the content is the caption, then a line `[voice note transcript]`, then the "
            "transcript."
        ),
    ),
    Requirement(
        id="media.transcription.not_configured_reply",
        source="ingress-and-trust#the-gateway-pipeline 4",
        behaviour=(
            "Without a transcription backend the sender is told to run `fermix setup` and no turn is "
            "scheduled."
        ),
    ),
    Requirement(
        id="media.transcription.too_large_reply",
        source="ingress-and-trust#the-gateway-pipeline 4",
        behaviour=(
            "Audio over `max_file_mb` (20 when unset), by declared size before any download, is answered "
            "with the limit and the advice to send a shorter clip."
        ),
    ),
    Requirement(
        id="media.transcription.failure_reply",
        source="ingress-and-trust#the-gateway-pipeline 4",
        behaviour=(
            "Any other transcription failure is answered with a request to try again and no turn is "
            "scheduled."
        ),
    ),
    Requirement(
        id="media.image.attached_as_content",
        source="ingress-and-trust#the-gateway-pipeline 4",
        behaviour=(
            "Images on a media-capable channel are downloaded and reach the model as image content, never "
            "as a placeholder."
        ),
    ),
    Requirement(
        id="media.image.failure_is_silent_to_sender",
        source="ingress-and-trust#the-gateway-pipeline 4",
        behaviour=(
            "A failed image download ends the message with a log line; no turn runs without the picture "
            "and no reply is sent."
        ),
    ),
    Requirement(
        id="media.image.model_without_vision",
        source="ingress-and-trust#the-gateway-pipeline 4",
        behaviour=(
            "An image routed to a model without vision fails the turn with a clear text and is never "
            "dropped silently."
        ),
    ),
    Requirement(
        id="media.album.is_one_turn",
        source="ingress-and-trust#the-gateway-pipeline 4",
        behaviour=(
            "A Telegram album, and WhatsApp pictures of one sender that follow closely, become one turn "
            "with all pictures."
        ),
    ),
    Requirement(
        id="media.album.others_pass_through",
        source="ingress-and-trust#the-gateway-pipeline 4",
        behaviour=(
            "Discord, Slack and Signal messages are never held back: their attachments arrive in one message."
        ),
    ),
    Requirement(
        id="ingress.empty.reply_text",
        source="ingress-and-trust#the-gateway-pipeline 5",
        behaviour=(
            'A message without text and readable media is answered exactly "Your message looks empty — '
            'send some text or media I can read."'
        ),
    ),
    Requirement(
        id="ingress.empty.no_turn",
        source="ingress-and-trust#the-gateway-pipeline 5",
        behaviour="A message that looks empty schedules no turn, stores nothing and calls no model.",
    ),
    Requirement(
        id="ingress.empty.attachment_counts_as_content",
        source="ingress-and-trust#the-gateway-pipeline 5",
        behaviour=(
            "A picture, or another attachment that can become text, picture or file, keeps a message "
            "without text from looking empty."
        ),
        ruling="life of a message 5",
    ),
    Requirement(
        id="ingress.empty.what_is_empty",
        source="ingress-and-trust#the-gateway-pipeline 5",
        behaviour=(
            "White space alone, a sticker and a poll, which bring neither text nor readable media, look "
            "empty."
        ),
    ),
    Requirement(
        id="ingress.empty.after_authorise",
        source="ingress-and-trust#the-gateway-pipeline 5",
        behaviour="A refused sender of an empty message never receives the looks-empty reply.",
    ),
    Requirement(
        id="streaming.resolved_once_per_turn",
        source="ingress-and-trust#the-gateway-pipeline 6",
        behaviour="Whether and how a turn streams is decided once, at its start.",
    ),
    Requirement(
        id="command.may_enqueue_a_turn",
        source="ingress-and-trust#the-gateway-pipeline 7",
        behaviour="A command can hand a changed message on to the queue as an ordinary turn.",
    ),
    Requirement(
        id="command.unknown_is_ordinary_text",
        source="ingress-and-trust#the-gateway-pipeline 7",
        behaviour="An unrecognised `/word` reaches the agent unchanged as ordinary text, never as an error.",
    ),
    Requirement(
        id="lane.one_turn_at_a_time",
        source="ingress-and-trust#the-gateway-pipeline 8",
        behaviour="A conversation, identified by channel, chat and thread, runs at most one turn at once.",
    ),
    Requirement(
        id="lane.first_in_first_out",
        source="ingress-and-trust#the-gateway-pipeline 8",
        behaviour="Messages of one conversation are answered in the order in which they were admitted.",
    ),
    Requirement(
        id="lane.conversations_are_independent",
        source="ingress-and-trust#the-gateway-pipeline 8",
        behaviour="A conversation whose turn is slow or waiting does not hold up another one.",
    ),
    Requirement(
        id="restart.local_request_is_told",
        source="ingress-and-trust#the-gateway-pipeline 8",
        behaviour=(
            "A local request that arrives while the gateway drains or is closed is not queued and is told "
            '"I\'m restarting — please send your message again in a moment."'
        ),
        ruling="where the documents disagree: restart reply",
    ),
    Requirement(
        id="restart.inbox_says_unavailable",
        source="ingress-and-trust#the-gateway-pipeline 8",
        behaviour=(
            "While the ledger is closed or the gateway drains the inbox answers `unavailable`, and a "
            "polling transport keeps its offset and sends no reply."
        ),
        ruling="where the documents disagree: restart reply",
    ),
    Requirement(
        id="restart.webhook_gets_503",
        source="ingress-and-trust#the-gateway-pipeline 8",
        behaviour=(
            "A webhook is answered only after its admission, and 503 without a restart reply if it cannot "
            "be admitted."
        ),
        ruling="where the documents disagree: restart reply",
    ),
    Requirement(
        id="restart.signal_and_cli_are_told",
        source="ingress-and-trust#the-gateway-pipeline 8",
        behaviour=(
            "On Signal and at a terminal, which do not offer a message again, the sender of a message that "
            "was not admitted gets the restart reply; on Discord, which is read again from its cursor after "
            "a start, nobody is told to repeat what will be answered."
        ),
        ruling=(
            "where the documents disagree: restart reply. Discord stands there among those that offer nothing "
            "again; with the catch-up after each start it does, and a told sender would be answered twice"
        ),
    ),
    Requirement(
        id="ingress.dedupe.webhook_key",
        source="ingress-and-trust#idempotency",
        behaviour="Webhook channels are deduplicated in memory by channel and platform message id.",
    ),
    Requirement(
        id="ingress.dedupe.atomic",
        source="ingress-and-trust#idempotency",
        behaviour=(
            "Of any number of concurrent claims of one key exactly one is fresh and the rest are duplicates."
        ),
    ),
    Requirement(
        id="ingress.dedupe.expires_after_24_hours",
        source="ingress-and-trust#idempotency",
        behaviour="A key is forgotten 24 hours after it was recorded.",
    ),
    Requirement(
        id="ingress.dedupe.released_on_failed_dispatch",
        source="ingress-and-trust#idempotency",
        behaviour=(
            "If a message cannot be dispatched after its key was recorded, the key is released and the "
            "platform's next delivery is fresh."
        ),
    ),
)
