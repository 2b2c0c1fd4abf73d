"""What the local model is asked with: its profile, its prompt and its sampling, as data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from fermix.application.ports.model import ModelProfile
from fermix.infrastructure.providers.local.files import (
    SMOLLM2,
    DefaultModelFile,
    ModelFile,
    UserModelFile,
    model_file,
)
from fermix.infrastructure.providers.local.serving import PROVIDER, LocalServer

DEFAULT_MODEL = "smollm2-135m-instruct"
DEFAULT_CONTEXT_WINDOW = 4_096
HONEST_NOTE = (
    "The built-in local model talks but is no agent: it is small, its facts are often wrong, and it uses no "
    "tools. Set a provider in config.toml for real work."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the next token is chosen; field names are those of the server's request body.

    Attributes:
        temperature: 0 always takes the likeliest token.
        top_p: keep the likeliest tokens that reach this share together.
        top_k: keep this many; 0 keeps all.
        min_p: drop tokens below this share of the likeliest.
        repeat_penalty: divides the score of tokens among the last `repeat_last_n`; 1 is off.
        repeat_last_n: tokens, the question's included.
        dry_multiplier: strength of the penalty on continuing a run of words that was there before; 0 is off.
        dry_base: how steeply that penalty grows with the run's length.
        dry_allowed_length: tokens a run may have without penalty.
        dry_penalty_last_n: tokens looked back for such runs.
    """

    temperature: float
    top_p: float
    top_k: int = 40
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = 256

    def body(self) -> Mapping[str, object]:
        """The fields as the server takes them beside `max_tokens`, which the profile's answer limit sets."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalProfile:
    """A local model, ready to be served and asked.

    Attributes:
        file: where it lies.
        profile: what it can do.
        sampling: extra fields of every request.
    """

    file: ModelFile
    profile: ModelProfile
    sampling: Sampling

    def server(self, *, threads: int | None = None) -> LocalServer:
        """How the runtime is to serve it; `threads` as in `LocalServer`."""
        return LocalServer(
            file=self.file,
            model=self.profile.model,
            context_window=self.profile.context_window or DEFAULT_CONTEXT_WINDOW,
            threads=threads,
        )


DEFAULT_PROMPT = "You are a helpful AI assistant named Fermix. Keep your answers short and to the point."
DEFAULT_SAMPLING = Sampling(temperature=0.1, top_p=0.9, repeat_penalty=1.05, dry_multiplier=0.8)
"""Chosen by `python -m benchmarks.local_model`; the results lie beside that program."""

OTHER_SAMPLING = Sampling(temperature=0.7, top_p=0.95)
"""For models nobody has tried here: mild values that most instruction models are published with."""


def default_profile(home: Path) -> LocalProfile:
    """The model that `fermix model install` puts into a home.

    An answer may take 512 tokens: the longest of the twenty everyday answers takes two fifths of that,
    and what goes on much longer is rambling.
    """
    return LocalProfile(
        file=DefaultModelFile(path=model_file(home), release=SMOLLM2),
        profile=ModelProfile(
            provider=PROVIDER,
            model=DEFAULT_MODEL,
            context_window=DEFAULT_CONTEXT_WINDOW,
            max_output_tokens=512,
            tools=False,
            max_concurrent_turns=1,
            system_prompt=DEFAULT_PROMPT,
        ),
        sampling=DEFAULT_SAMPLING,
    )


def other_profile(path: Path, *, context_window: int | None = None) -> LocalProfile:
    """Any other GGUF file: the agent's own prompt, and a quarter of the window for the answer.

    Args:
        path: the file that `[fermix_core.providers.local] model_path` names.
        context_window: tokens; 4096 when the configuration says nothing, since a model's own window may need
            more memory than the machine has.
    """
    window = DEFAULT_CONTEXT_WINDOW if context_window is None else context_window
    return LocalProfile(
        file=UserModelFile(path=path),
        profile=ModelProfile(
            provider=PROVIDER,
            model=path.stem,
            context_window=window,
            max_output_tokens=window // 4,
            tools=False,
            max_concurrent_turns=1,
        ),
        sampling=OTHER_SAMPLING,
    )
