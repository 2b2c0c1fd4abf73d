"""Behaviours of the page on ingress and trust: who may talk, with which trust, and what that opens."""

from tests.requirement_pages.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        id="trust.operator_sees_all_classes",
        source="ingress-and-trust#two-tier-trust-model",
        behaviour=(
            "An operator's turn is offered read_only, read_write, exec, network, external_api and, where "
            "registered, gui_control capabilities."
        ),
    ),
    Requirement(
        id="trust.guest_sees_read_only",
        source="ingress-and-trust#two-tier-trust-model",
        behaviour=(
            "A guest's turn is offered no read_write, exec, network, external_api or gui_control capability."
        ),
    ),
    Requirement(
        id="trust.gui_control.only_when_enabled",
        source="ingress-and-trust#two-tier-trust-model",
        behaviour=(
            "A gui_control capability is registered only while computer use is enabled; it is off by default."
        ),
    ),
    Requirement(
        id="trust.gui_control.never_delegated",
        source="ingress-and-trust#two-tier-trust-model",
        behaviour="A sub-agent is never offered a gui_control capability, whatever its parent has.",
    ),
    Requirement(
        id="ingress.authorise.rule_order",
        source="ingress-and-trust#authorization-rules",
        behaviour="The six rules are tried in their order and the first that matches decides.",
    ),
    Requirement(
        id="ingress.authorise.cli_is_operator",
        source="ingress-and-trust#authorization-rules 1",
        behaviour="A message of a local channel is operator, with or without a sender id.",
    ),
    Requirement(
        id="ingress.authorise.unknown_channel",
        source="ingress-and-trust#authorization-rules 2",
        behaviour="A channel name without a known configuration gives `unknown_channel`.",
    ),
    Requirement(
        id="ingress.authorise.missing_sender_is_unauthorized",
        source="ingress-and-trust#authorization-rules 3",
        behaviour="On a remote channel a message without sender id gives `unauthorized`.",
    ),
    Requirement(
        id="ingress.authorise.owner_matches",
        source="ingress-and-trust#authorization-rules 4",
        behaviour="A sender id equal to the channel's explicit owner gives operator.",
    ),
    Requirement(
        id="ingress.authorise.allowlist_matches",
        source="ingress-and-trust#authorization-rules 5",
        behaviour="A sender id on the channel's ingress allowlist gives guest.",
    ),
    Requirement(
        id="ingress.authorise.everyone_else_is_unauthorized",
        source="ingress-and-trust#authorization-rules 6",
        behaviour="Any other sender gives `unauthorized`.",
    ),
    Requirement(
        id="ingress.authorise.says_role_trust_reason_source",
        source="ingress-and-trust#authorization-rules",
        behaviour="A decision states role, trust, the reason and the setting it rests on.",
    ),
    Requirement(
        id="ingress.authorise.names_never_match",
        source="ingress-and-trust#authorization-rules",
        behaviour="Only ids are compared: a display name equal to an allowed id admits nobody.",
    ),
    Requirement(
        id="ingress.authorise.taking_away_never_admits",
        source="ingress-and-trust#authorization-rules",
        behaviour=(
            "Removing an owner or an allowlist entry never admits a sender who was refused before, nor "
            "raises a trust."
        ),
    ),
    Requirement(
        id="ingress.owner.explicit_only",
        source="ingress-and-trust#owner-model",
        behaviour="For trust the owner is `owner_user_id` alone; without that key there is none.",
    ),
    Requirement(
        id="ingress.owner.command_falls_back_to_sole_entry",
        source="ingress-and-trust#owner-model",
        behaviour=(
            "For commands the owner is `owner_user_id`, or the only allowlist entry where no owner is set."
        ),
    ),
    Requirement(
        id="ingress.owner.two_entries_have_no_fallback",
        source="ingress-and-trust#owner-model",
        behaviour="With two or more allowed senders and no `owner_user_id` nobody is the command owner.",
    ),
    Requirement(
        id="ingress.owner.fallback_does_not_promote",
        source="ingress-and-trust#owner-model",
        behaviour="The sole allowlisted sender passes the command gate but keeps guest trust.",
    ),
    Requirement(
        id="config.allowlist_keys",
        source="ingress-and-trust#ingress-allowlist-config-keys",
        behaviour=(
            "The owner is `owner_user_id` everywhere; the allowlist is `allowed_user_ids` on Telegram, "
            "Discord and Slack and `allowed_sender_ids` on WhatsApp and Signal."
        ),
    ),
    Requirement(
        id="config.command_allowlist.separate",
        source="ingress-and-trust#ingress-allowlist-config-keys",
        behaviour="`command_allowlist` is a list of its own: it admits nobody to the agent.",
    ),
    Requirement(
        id="ingress.fail_closed.no_owner_no_allowlist",
        source="ingress-and-trust#fail-closed-behavior",
        behaviour="An enabled channel with neither owner nor allowlist refuses every sender.",
    ),
    Requirement(
        id="ingress.fail_closed.doctor_row",
        source="ingress-and-trust#fail-closed-behavior",
        behaviour=(
            "`fermix doctor` calls an enabled channel configured with an owner, and misconfigured without "
            "owner and allowlist."
        ),
    ),
    Requirement(
        id="trust.flow.message_to_snapshot",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour="The trust given at admission decides which capabilities the turn's snapshot holds.",
    ),
    Requirement(
        id="trust.flow.absent_is_guest",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour="A turn without trust is offered what a guest is offered.",
    ),
    Requirement(
        id="trust.flow.memory_refuses_guest_directives",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour=(
            "A memory candidate of the directive category from a guest is not promoted into the durable "
            "prompt."
        ),
    ),
    Requirement(
        id="jail.request_cwd",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour=(
            "A request working directory counts only on an operator's turn, in `standard` mode, if it is "
            "a real directory strictly inside the real home."
        ),
    ),
    Requirement(
        id="jail.guest_roots",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour="A guest's turn has the mode's own roots and the explicit `allowed_roots`, and no more.",
    ),
    Requirement(
        id="approval.tool_only_when_attended",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour=(
            "`request_directory_access` is offered only at the top level of an operator's turn that has a "
            "live reply path and an approval seam."
        ),
    ),
    Requirement(
        id="approval.prompt_shows_the_change",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour="The prompt shows the canonical path, the reason and the difference in the configuration.",
    ),
    Requirement(
        id="approval.token.single_use",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour="A confirmed token cannot be used a second time.",
    ),
    Requirement(
        id="approval.token.sixty_seconds",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour="A token is refused 60 seconds after it was made.",
    ),
    Requirement(
        id="approval.token.bound_to_origin",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour="A token is good only in the channel, chat and thread, and for the user, it was made for.",
    ),
    Requirement(
        id="approval.grant_persists",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour="An approved path is written to `[sandbox] allowed_roots`.",
    ),
    Requirement(
        id="approval.request_resumes",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour=(
            "On a chat channel an approval takes up the original request again by itself, with all it "
            "carried."
        ),
    ),
    Requirement(
        id="approval.code_withheld_in_shared_chat",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour="In a shared chat of a channel with buttons the prompt does not show the code.",
    ),
    Requirement(
        id="approval.button.stranger_is_refused",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour=(
            "A tap of anyone but the owner is refused before the token is looked at, on Discord with a "
            "private note; nothing is ingested and the approval stays."
        ),
    ),
    Requirement(
        id="approval.checked_before_taken",
        source="ingress-and-trust#how-trust-flows-to-tools",
        behaviour=(
            "A confirmation from a wrong origin or after the time is refused and leaves the token as it was."
        ),
    ),
)
