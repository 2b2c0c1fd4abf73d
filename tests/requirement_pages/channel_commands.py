"""Behaviours of the page on channels: slash commands, the persona and compaction."""

from tests.requirement_pages.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        id="command.works_everywhere",
        source="channels#slash-commands",
        behaviour="Commands work through every channel by one dispatcher, `fermix ask` included.",
    ),
    Requirement(
        id="command.help.lists",
        source="channels#slash-commands",
        behaviour="`/help` lists the commands that exist and tells which of them this sender may use.",
    ),
    Requirement(
        id="command.gate.open_commands",
        source="channels#slash-commands",
        behaviour="`/help` and `/whoami` are open to any authorised sender, guests included.",
    ),
    Requirement(
        id="command.gate.state_changing_commands",
        source="channels#slash-commands",
        behaviour="`/new`, `/clear` and `/stop` need the owner-or-allowlist gate.",
    ),
    Requirement(
        id="command.whoami.shows_id",
        source="channels#slash-commands",
        behaviour="`/whoami` shows the stable id that authorisation compares.",
    ),
    Requirement(
        id="command.new.clears_window",
        source="channels#slash-commands",
        behaviour="After `/new` the conversation's earlier history no longer reaches the model.",
    ),
    Requirement(
        id="command.new.keeps_the_rest",
        source="channels#slash-commands",
        behaviour="`/new` touches no long-term memory, no revision and no job, and no other conversation.",
    ),
    Requirement(
        id="command.clear.is_new",
        source="channels#slash-commands",
        behaviour="`/clear` is an alias of `/new`.",
    ),
    Requirement(
        id="command.stop.everything_everywhere",
        source="channels#slash-commands",
        behaviour="`/stop` cancels the running turns and the waiting messages of all conversations.",
        ruling="where the documents disagree: /stop",
    ),
    Requirement(
        id="command.stop.reply_counts",
        source="channels#slash-commands",
        behaviour=(
            "The reply to `/stop` says how many turns and waiting messages were stopped, or that nothing "
            "was active."
        ),
        ruling="where the documents disagree: /stop",
    ),
    Requirement(
        id="command.stop.marker_in_history",
        source="channels#slash-commands",
        behaviour="A stopped request stays in history as context with a marker that it was stopped.",
    ),
    Requirement(
        id="command.stop.never_replayed",
        source="channels#slash-commands",
        behaviour=(
            "What `/stop` ended is never replayed, whatever dies afterwards, and never offered to `/retry`."
        ),
        ruling="where the documents disagree: /stop",
    ),
    Requirement(
        id="command.stop.background_work",
        source="channels#slash-commands",
        behaviour="`/stop` ends running background work and leaves scheduled jobs alone.",
    ),
    Requirement(
        id="command.compact",
        source="channels#slash-commands",
        behaviour="`/compact` summarises the conversation window now and keeps the summary in history.",
    ),
    Requirement(
        id="command.background",
        source="channels#slash-commands",
        behaviour=(
            "`/background` (`/bg`) runs the request detached and posts the result to the same conversation."
        ),
    ),
    Requirement(
        id="command.tasks",
        source="channels#slash-commands",
        behaviour="`/tasks` lists running and recent background work of this conversation only.",
    ),
    Requirement(
        id="command.pause_and_resume",
        source="channels#slash-commands",
        behaviour=(
            "`/pause` keeps the computer-use session alive and refuses its actions until `/resume`, which "
            "starts no work."
        ),
    ),
    Requirement(
        id="command.ultra",
        source="channels#slash-commands",
        behaviour="`/ultra` runs its request as a normal foreground turn in the exhaustive profile.",
    ),
    Requirement(
        id="command.sandbox.changes",
        source="channels#slash-commands",
        behaviour=(
            "`/sandbox` shows and changes environment names, presets and path grants; what widens the "
            "sandbox waits for `/confirm TOKEN`."
        ),
    ),
    Requirement(
        id="command.sandbox.proposals_are_typed",
        source="channels#slash-commands",
        behaviour="A proposal started by `/sandbox` or `/grant` never carries a button.",
    ),
    Requirement(
        id="command.gate.refusal_is_answered",
        source="channels#slash-commands",
        behaviour="A command refused for its role is answered in one line and reaches no agent.",
    ),
    Requirement(
        id="approval.text_surfaces",
        source="channels#slash-commands",
        behaviour=(
            "Slack, WhatsApp, Signal and the CLI show the prompt as text with its `/confirm TOKEN` line."
        ),
    ),
    Requirement(
        id="approval.button.only_for_agent_requests",
        source="channels#slash-commands",
        behaviour=(
            "Only the agent's own access request carries the Approve button, on Telegram and Discord; a "
            "tap confirms like the typed `/confirm`."
        ),
    ),
    Requirement(
        id="approval.elsewhere_never",
        source="channels#slash-commands",
        behaviour=(
            "A token never works outside its origin; in a shared chat the prompt says to tap, or to ask "
            "again in a direct message or with `fermix ask`."
        ),
        ruling="where the documents disagree: approving elsewhere",
    ),
    Requirement(
        id="approval.local_ask_prints_grant",
        source="channels#slash-commands",
        behaviour="An `ask` without a daemon prints the `fermix grant path` line instead of a token.",
        ruling="where the documents disagree: local `ask` and approvals",
    ),
    Requirement(
        id="command.soul.review",
        source="channels#soul-subcommands",
        behaviour=(
            "`/soul review` drafts an edit, with an instruction and a bounded window of the owner's "
            "messages where asked for."
        ),
    ),
    Requirement(
        id="command.soul.shows",
        source="channels#soul-subcommands",
        behaviour=(
            "`/soul` shows revision and usage, `/soul diff TOKEN` a pending proposal, `/soul history` all "
            "revisions."
        ),
    ),
    Requirement(
        id="command.soul.apply",
        source="channels#soul-subcommands",
        behaviour=(
            "Reviews, `/soul revert N` and `/soul reset` only propose; nothing changes before the owner "
            "sends `/soul apply TOKEN`."
        ),
    ),
    Requirement(
        id="command.soul.token_five_minutes",
        source="channels#soul-subcommands",
        behaviour="A `/soul` token is refused after 5 minutes.",
    ),
    Requirement(
        id="compaction.triggers_at_threshold",
        source="channels#automatic-compaction",
        behaviour=(
            "After a turn that used at least `threshold` of the model's window a summary takes the place "
            "of older messages; recent turns stay."
        ),
    ),
    Requirement(
        id="config.compaction_defaults",
        source="channels#automatic-compaction",
        behaviour="Compaction is configured on, with threshold 0.85, unless the file says otherwise.",
    ),
)
