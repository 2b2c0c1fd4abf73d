"""Behaviours of the design's page on trust: capabilities, gates, prompts, the jail, secrets."""

from tests.requirement_pages.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        id="trust.owner_data.is_declared",
        source="design#trust 1",
        behaviour="A capability without a statement on owner_data cannot be built.",
    ),
    Requirement(
        id="trust.owner_data.hidden_from_guests",
        source="design#trust 1",
        behaviour=(
            "A read_only capability that reads the owner's data is offered to no guest and no turn "
            "without trust."
        ),
    ),
    Requirement(
        id="trust.shared_chat.no_tool_calls",
        source="design#trust 1",
        behaviour="In a shared chat a guest's turn sees no tool calls and no results of other turns.",
    ),
    Requirement(
        id="trust.shared_chat.no_memory",
        source="design#trust 1",
        behaviour="In a shared chat a guest's turn sees no memory.",
    ),
    Requirement(
        id="trust.shared_chat.no_inbox_paths",
        source="design#trust 1",
        behaviour="In a shared chat a guest's turn sees no path of the workspace inbox.",
    ),
    Requirement(
        id="snapshot.policies_only_narrow",
        source="design#trust 2",
        behaviour="However many narrowing policies are applied, a snapshot never holds more than before.",
    ),
    Requirement(
        id="snapshot.stored_with_the_turn",
        source="design#trust 2",
        behaviour="The snapshot a turn worked with is stored with the turn.",
    ),
    Requirement(
        id="snapshot.queued_turn_cannot_widen",
        source="design#trust 2",
        behaviour="A turn that is run again never gets more capabilities than its stored snapshot holds.",
    ),
    Requirement(
        id="snapshot.inherited_by_sub_work",
        source="design#trust 2",
        behaviour="Sub-agents and background turns inherit their parent's snapshot and can only narrow it.",
    ),
    Requirement(
        id="snapshot.filtered_is_not_callable",
        source="design#trust 2",
        behaviour=(
            "A capability that was filtered out cannot be called by its name; the model is told that it "
            "is not available."
        ),
    ),
    Requirement(
        id="gate.any_authorised",
        source="design#trust 3",
        behaviour="The any-authorised gate passes operators and guests.",
    ),
    Requirement(
        id="gate.owner_or_allowlist.passes",
        source="design#trust 3",
        behaviour=(
            "The owner-or-allowlist gate passes an operator, a guest on `command_allowlist`, and the only "
            "allowed sender where no owner is set."
        ),
    ),
    Requirement(
        id="gate.owner_or_allowlist.refuses",
        source="design#trust 3",
        behaviour="The owner-or-allowlist gate refuses any other guest.",
    ),
    Requirement(
        id="gate.strict_operator",
        source="design#trust 3",
        behaviour=(
            "The strict gate passes operators alone; neither `command_allowlist` nor being the only "
            "allowed sender opens it."
        ),
        ruling="where the documents disagree: guests and command_allowlist",
    ),
    Requirement(
        id="gate.strict_commands.approvals",
        source="design#trust 3",
        behaviour="`/grant`, `/revoke` and `/confirm` stand behind the strict gate.",
    ),
    Requirement(
        id="gate.strict_commands.lanes",
        source="design#trust 3",
        behaviour="`/discard` and `/retry` stand behind the strict gate.",
    ),
    Requirement(
        id="approval.prompt_is_a_record",
        source="design#trust 4",
        behaviour="A prompt to a human is a record with id, kind, generation and choices.",
    ),
    Requirement(
        id="approval.first_answer_wins",
        source="design#trust 4",
        behaviour="Of several answers to one prompt the first counts and the others are told so.",
    ),
    Requirement(
        id="approval.wrong_tokens_are_limited",
        source="design#trust 4",
        behaviour="After 5 wrong tokens in a minute an origin is refused for a minute.",
    ),
    Requirement(
        id="jail.commands_run_inside",
        source="design#trust 5",
        behaviour=(
            "The agent's commands run under the jail of the operating system: bubblewrap, Landlock or "
            "seatbelt."
        ),
    ),
    Requirement(
        id="jail.environment_is_not_the_daemons",
        source="design#trust 5",
        behaviour="The agent's commands never get the daemon's environment.",
    ),
    Requirement(
        id="jail.none_means_no_exec",
        source="design#trust 5",
        behaviour="Where no jail is available the exec tools are not offered unless the owner says so.",
    ),
    Requirement(
        id="jail.children_cannot_use_the_socket",
        source="design#trust 5",
        behaviour="A process that the daemon started, however it detached, is refused at the control socket.",
    ),
    Requirement(
        id="jail.doctor_names_the_limit",
        source="design#trust 5",
        behaviour=(
            "Where the system cannot tell the daemon's children apart `fermix doctor` says what that means."
        ),
    ),
    Requirement(
        id="envelope.channel_text_is_fenced",
        source="design#trust 6",
        behaviour=(
            "Names, titles, quotes and forwarded texts reach a prompt only as fenced data, made by one "
            "module."
        ),
    ),
    Requirement(
        id="envelope.cannot_be_closed",
        source="design#trust 6",
        behaviour=(
            "No text put into the envelope can close its fence or start a line outside it, and a name "
            "becomes one quoted line."
        ),
    ),
    Requirement(
        id="envelope.tool_output_is_fenced",
        source="design#trust 6",
        behaviour=(
            "Web pages and the tool output of others reach a prompt only as fenced data, errors included."
        ),
    ),
    Requirement(
        id="secrets.keychain_first",
        source="design#trust 6",
        behaviour="A secret is looked for in the OS keychain, else in a 0600 file, else in the environment.",
    ),
    Requirement(
        id="secrets.redacted_in_logs",
        source="design#trust 6",
        behaviour="A secret of the settings appears in no log line, the lines of client libraries included.",
    ),
    Requirement(
        id="secrets.redacted_in_errors_and_chat",
        source="design#trust 6",
        behaviour="A secret of the settings appears in no error text and no reply.",
    ),
    Requirement(
        id="secrets.redacted_in_traces",
        source="design#trust 6",
        behaviour="A secret appears in no trace.",
    ),
    Requirement(
        id="secrets.bot_urls_redacted",
        source="design#trust 6",
        behaviour="The token in a Bot API URL appears in no log line of an HTTP client.",
    ),
)
