"""The prompts and samplings tried on the twenty requests. The chosen pair is marked by where it comes from."""

from dataclasses import dataclass

from fermix.infrastructure.providers.local.profile import DEFAULT_PROMPT, DEFAULT_SAMPLING, Sampling


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One way to ask.

    Attributes:
        name: short, used for the file with its answers.
        prompt: the system prompt; `None` leaves it to the model's chat template.
        sampling: `None` leaves it to the server.
    """

    name: str
    prompt: str | None
    sampling: Sampling | None


BRIEF = "You are Fermix, a helpful assistant. Answer briefly."
PLAIN = "You are a helpful AI assistant named Fermix."

SETTINGS = (
    Setting(name="chosen", prompt=DEFAULT_PROMPT, sampling=DEFAULT_SAMPLING),
    Setting(name="nothing-set", prompt=None, sampling=None),
    Setting(name="prompt-only", prompt=DEFAULT_PROMPT, sampling=None),
    Setting(name="sampling-only", prompt=None, sampling=DEFAULT_SAMPLING),
    Setting(name="other-prompt-brief", prompt=BRIEF, sampling=DEFAULT_SAMPLING),
    Setting(name="other-prompt-plain", prompt=PLAIN, sampling=DEFAULT_SAMPLING),
    Setting(name="greedy", prompt=DEFAULT_PROMPT, sampling=Sampling(temperature=0.0, top_p=1.0)),
    Setting(
        name="cool-repeat-penalty",
        prompt=DEFAULT_PROMPT,
        sampling=Sampling(temperature=0.2, top_p=0.9, repeat_penalty=1.1),
    ),
    Setting(
        name="cool-dry",
        prompt=DEFAULT_PROMPT,
        sampling=Sampling(temperature=0.2, top_p=0.9, dry_multiplier=0.8),
    ),
    Setting(
        name="warm",
        prompt=DEFAULT_PROMPT,
        sampling=Sampling(temperature=0.5, top_p=1.0, min_p=0.1, repeat_penalty=1.1),
    ),
)
