"""Commands that were said: what a transcript is looked at for, with the rules of what was written."""

from dataclasses import replace

from fermix.application.gateway.dedupe import WebhookMemory
from fermix.application.gateway.stages import STAGES_OF_SPEECH, Candidate, Door, Ended, walk
from fermix.application.media.preparer import Spoken
from fermix.application.ports.admissions import Command
from fermix.application.ports.channel import ChannelFeatures, Offered
from fermix.domain.authorization import LOCAL_CHANNELS, Policies
from fermix.domain.normalise import RawMessage, Registration

SPOKEN = "#spoken"
"""What the key of a command ends with that was said in the message of that key."""


def command_in(spoken: Spoken, *, policies: Policies, memory: WebhookMemory, busy: bool) -> Candidate | None:
    """The command that was said, ready to be committed in the place of its message's turn; `None` for all else.

    An edit of the message that came before its transcript does not make it one: its words are of the recording.
    """
    message = spoken.message
    registration = Registration(
        channel=message.channel, account=message.account, local=message.channel in LOCAL_CHANNELS
    )
    step = walk(
        Candidate(
            door=Door(registration=registration, features=ChannelFeatures()),
            offered=Offered(message=RawMessage()),
            policies=policies,
            memory=memory,
            message=replace(
                message, key=f"{message.key}{SPOKEN}", text=spoken.text, raw_text=spoken.text, edited_at=None
            ),
            busy=busy,
        ),
        stages=STAGES_OF_SPEECH,
    )
    if isinstance(step, Ended) or not isinstance(step.admission, Command):
        return None
    return replace(step, admission=replace(step.admission, instead_of=spoken.turn))
