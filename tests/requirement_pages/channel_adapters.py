"""Behaviours of the page on channels: the adapters, media, streaming, settings and telemetry."""

from tests.requirement_pages.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        id="deliver.text_limits",
        source="channels#channel-adapters",
        behaviour=(
            "Text leaves in pieces of at most 4,096 UTF-16 units on Telegram, 4,096 characters on "
            "WhatsApp, 40,000 on Slack and 2,000 on Discord."
        ),
        ruling="where the documents disagree: text over a channel's cap",
    ),
    Requirement(
        id="outbound_media.caps",
        source="channels#channel-adapters",
        behaviour=(
            "Each channel refuses media over its cap of the page's table and takes media exactly at it."
        ),
    ),
    Requirement(
        id="media.inbound_caps",
        source="channels#channel-adapters",
        behaviour="Telegram reads media to 20 MB and WhatsApp to 25 MB.",
    ),
    Requirement(
        id="channel.whatsapp.signature",
        source="channels#channel-adapters",
        behaviour=(
            "`POST /webhook/whatsapp` takes only bodies whose `X-Hub-Signature-256` fits the raw bytes."
        ),
    ),
    Requirement(
        id="channel.whatsapp.challenge",
        source="channels#channel-adapters",
        behaviour="`GET /webhook/whatsapp` echoes the challenge only for the configured verify token.",
    ),
    Requirement(
        id="channel.slack.signature_and_age",
        source="channels#channel-adapters",
        behaviour=(
            "`POST /webhook/slack` takes only requests with a right `X-Slack-Signature` whose timestamp "
            "is at most 300 seconds off."
        ),
    ),
    Requirement(
        id="channel.slack.dm_keeps_thread",
        source="channels#channel-adapters",
        behaviour="A Slack direct message in a thread keeps its `thread_ts`.",
        ruling="where the documents disagree: Slack direct messages",
    ),
    Requirement(
        id="channel.signal.transport",
        source="channels#channel-adapters",
        behaviour=(
            "`signal.transport` picks `jsonrpc` (default) or `receive`; when jsonRpc cannot start the "
            "other is used."
        ),
        ruling="where the documents disagree: Signal transport",
    ),
    Requirement(
        id="channel.telegram.conflict_told_apart",
        source="channels#channel-adapters",
        behaviour=(
            "A 409 of Telegram's is told apart by its text: another poller is named, a webhook left on "
            "the bot is removed with pending updates kept, and said."
        ),
        ruling="where the documents disagree: 409 from Telegram",
    ),
    Requirement(
        id="channel.cli.same_gateway",
        source="channels#channel-adapters",
        behaviour="`fermix ask` passes the same gateway and agent as any messenger.",
    ),
    Requirement(
        id="channel.cli.whole_answer",
        source="channels#channel-adapters",
        behaviour="The CLI prints the whole reply of the turn, not its first text.",
        ruling="where the documents disagree: CLI answer",
    ),
    Requirement(
        id="channel.transports",
        source="channels#channel-adapters",
        behaviour=(
            "Telegram polls, Discord keeps a gateway socket and Signal a `signal-cli` child; none of the "
            "three opens an HTTP endpoint."
        ),
    ),
    Requirement(
        id="media.audio_kinds",
        source="channels#inbound-multimodal",
        behaviour=(
            "What counts as audio is what the page lists: on Telegram video notes and audio-MIME "
            "documents too, elsewhere any `audio/*`."
        ),
    ),
    Requirement(
        id="media.transcription.backends",
        source="channels#inbound-multimodal",
        behaviour=(
            "The backend is `openai` (`gpt-4o-mini-transcribe`), `xai` (no model, an API key and no OAuth "
            "login), `deepgram` (`nova-3`) or our `local` one."
        ),
    ),
    Requirement(
        id="media.transcription.default_backend",
        source="channels#inbound-multimodal",
        behaviour=(
            "With no backend set, openai is used if its key is there, else local if installed, else none "
            "is configured."
        ),
        ruling="where the documents disagree: default transcription backend",
    ),
    Requirement(
        id="media.transcription.setup_and_doctor",
        source="channels#inbound-multimodal",
        behaviour=(
            "`fermix setup` sets backend, model and key; `fermix doctor` reports backend and presence of "
            "the credential, offline."
        ),
    ),
    Requirement(
        id="turn.blank_completion",
        source="channels#gateway-pipeline",
        behaviour=(
            "A blank completion is answered with an honest request to try again, and history gets no row "
            "of it."
        ),
    ),
    Requirement(
        id="lane.thread_is_part_of_the_route",
        source="channels#gateway-pipeline 6",
        behaviour=(
            "Two threads of one chat are two conversations, and a message without thread belongs to the "
            "chat's root."
        ),
    ),
    Requirement(
        id="streaming.off_by_default",
        source="channels#streaming",
        behaviour="A channel without `streaming` in its section does not stream.",
    ),
    Requirement(
        id="streaming.terminal_shows_as_it_comes",
        source="channels#streaming",
        behaviour="On a terminal `fermix ask` shows the answer as it comes, without any setting.",
        ruling="where the documents disagree: streaming",
    ),
    Requirement(
        id="streaming.piped_ask_does_not_stream",
        source="channels#streaming",
        behaviour="A piped `fermix ask` prints the answer once, when it is settled.",
        ruling="where the documents disagree: streaming",
    ),
    Requirement(
        id="streaming.unattended_never_streams",
        source="channels#streaming",
        behaviour="Background work, scheduled jobs and sub-agents never stream.",
    ),
    Requirement(
        id="streaming.any_streaming_provider",
        source="channels#streaming",
        behaviour="Both modes work with every provider that streams.",
        ruling="where the documents disagree: streaming",
    ),
    Requirement(
        id="streaming.draft.opens_and_edits",
        source="channels#streaming",
        behaviour="A draft appears once 30 characters are there and is edited in place about once a second.",
    ),
    Requirement(
        id="streaming.draft.ends",
        source="channels#streaming",
        behaviour="The draft ends as exactly the final text, or is deleted by `/stop`.",
    ),
    Requirement(
        id="streaming.draft.needs_ability",
        source="channels#streaming",
        behaviour="Draft mode on a channel without drafts delivers normally, and `fermix doctor` warns.",
    ),
    Requirement(
        id="streaming.block.items_and_thoughts",
        source="channels#streaming",
        behaviour=(
            "On every channel block mode sends each completed output item as a message, and reasoning "
            "summaries as one-line 💭 messages."
        ),
    ),
    Requirement(
        id="streaming.block.chunks",
        source="channels#streaming",
        behaviour=(
            "Long text without a boundary is cut at paragraphs of 800 to 1,200 characters, and flushed "
            "after 1 idle second."
        ),
    ),
    Requirement(
        id="telemetry.stream_phases",
        source="channels#streaming",
        behaviour="Streaming emits an event per open, edit, block, seal and discard.",
    ),
    Requirement(
        id="outbound_media.through_the_reply_port",
        source="channels#outbound-media",
        behaviour=(
            "`send_attachment` sends a local file through the turn's reply port, and each adapter in its "
            "platform's own upload form."
        ),
    ),
    Requirement(
        id="outbound_media.deduplicated_60_seconds",
        source="channels#outbound-media",
        behaviour=(
            "The same file with the same channel, chat, kind, caption, name and type is not posted twice "
            "within 60 seconds."
        ),
    ),
    Requirement(
        id="reaction.instead_of_filler",
        source="channels#reaction-acknowledgements",
        behaviour="The agent can acknowledge a message by a reaction instead of a text.",
    ),
    Requirement(
        id="reaction.offered_where_supported",
        source="channels#reaction-acknowledgements",
        behaviour="`react` is offered only on turns whose channel supports reactions.",
    ),
    Requirement(
        id="reaction.allowed_sets",
        source="channels#reaction-acknowledgements",
        behaviour=(
            "On Telegram and Slack the model is given the allowed set and nothing else is sent; Discord, "
            "WhatsApp and Signal take any single emoji."
        ),
    ),
    Requirement(
        id="reaction.cli_answers_in_text",
        source="channels#reaction-acknowledgements",
        behaviour="The CLI has no reactions: a bare acknowledgement there is a short line of text.",
    ),
    Requirement(
        id="config.telegram_enabled_by_default",
        source="channels#configuration",
        behaviour=(
            "Telegram is enabled unless switched off; WhatsApp, Slack, Discord and Signal are off unless "
            "switched on."
        ),
    ),
    Requirement(
        id="config.enablement_reaches_supervision",
        source="channels#configuration",
        behaviour="Only enabled channels have a running client.",
    ),
    Requirement(
        id="config.channel_without_owner_is_not_started",
        source="channels#configuration",
        behaviour=(
            "A connecting channel without owner and allowlist logs one refusal at the start and is not "
            "started."
        ),
    ),
    Requirement(
        id="config.webhook_without_owner_stays_up",
        source="channels#configuration",
        behaviour=(
            "The endpoint of a webhook channel without owner and allowlist stays up and every sender is "
            "refused."
        ),
    ),
    Requirement(
        id="config.album_debounce",
        source="channels#configuration",
        behaviour="Telegram and WhatsApp take `album_debounce_ms`, 3,000 when unset.",
    ),
    Requirement(
        id="config.environment.credentials",
        source="channels#configuration",
        behaviour=(
            "The credentials and paths of WhatsApp, Discord, Slack and Signal are read from the "
            "environment variables of the page."
        ),
    ),
    Requirement(
        id="config.environment.allowlists",
        source="channels#configuration",
        behaviour="The allowlist of each of the five channels can be set from its environment variable.",
    ),
    Requirement(
        id="config.environment.wins_over_file",
        source="channels#configuration",
        behaviour="A value from the environment overrides the file's.",
    ),
    Requirement(
        id="config.environment.never_the_telegram_token",
        source="channels#configuration",
        behaviour="No environment variable sets the Telegram bot token.",
    ),
    Requirement(
        id="config.keychain",
        source="channels#configuration",
        behaviour=(
            "Credentials saved by `fermix setup` lie in the OS keychain and need no environment variable."
        ),
    ),
    Requirement(
        id="health.ready.reports_each_channel",
        source="channels#configuration",
        behaviour=(
            "`/health/ready` reports the status of every channel; a disabled one never makes the daemon "
            "unready."
        ),
    ),
    Requirement(
        id="telemetry.channel",
        source="channels#telemetry-events",
        behaviour="Messages in and out, sends with their duration and failed media are reported per channel.",
    ),
    Requirement(
        id="telemetry.command",
        source="channels#telemetry-events",
        behaviour=(
            "A slash command is reported when received, when refused for its role, and when dispatched, "
            "with its duration."
        ),
    ),
    Requirement(
        id="telemetry.transcription",
        source="channels#telemetry-events",
        behaviour="Each transcription is reported with duration, channel and outcome.",
    ),
    Requirement(
        id="telemetry.agent_unavailable",
        source="channels#telemetry-events",
        behaviour="A message that meets a restarting agent is reported.",
    ),
)
