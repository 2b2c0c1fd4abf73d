"""Every behaviour the product owes, each under an id that its tests carry.

The sources are the specification's pages on ingress and trust and on channels, and the design's chapters on the
life of a message, on crash and restart, and on trust. A test says what it proves by
`@pytest.mark.requirement("some.id")`; `tests/architecture/test_requirements.py` holds both sides to each other.
`pending_requirements.txt` lists the behaviours still unproven, each with the capability it waits for.
"""

from pathlib import Path

from tests.requirement_pages import (
    channel_adapters,
    channel_commands,
    crash_and_restart,
    delivery_and_drain,
    ingress_pipeline,
    ingress_trust,
    message_admission,
    message_turn,
    trust_rules,
)
from tests.requirement_pages.requirement import Requirement

__all__ = ["CAPABILITIES", "PENDING_FILE", "REQUIREMENTS", "Requirement"]

REQUIREMENTS: tuple[Requirement, ...] = (
    *ingress_pipeline.REQUIREMENTS,
    *ingress_trust.REQUIREMENTS,
    *channel_adapters.REQUIREMENTS,
    *channel_commands.REQUIREMENTS,
    *message_admission.REQUIREMENTS,
    *message_turn.REQUIREMENTS,
    *crash_and_restart.REQUIREMENTS,
    *delivery_and_drain.REQUIREMENTS,
    *trust_rules.REQUIREMENTS,
)

CAPABILITIES = {
    "media": "voice, pictures, albums and files, in both directions",
    "channels": "the messengers: their transports, typing, live replies, reactions and buttons",
    "tools": "tools with effects, approvals, the jail, sub-agents, background work and jobs",
    "models": "fallbacks between providers and what a model can take",
    "conversations": "memory, compaction and the persona",
    "operations": "doctor, setup, keychain, queue commands, telemetry and rotation",
    "groups": "the full policy for shared chats",
    "sessions": "sessions that other programs read and change",
}
"""What an unproven behaviour can wait for."""

PENDING_FILE = Path(__file__).with_name("pending_requirements.txt")
