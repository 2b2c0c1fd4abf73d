"""What is served locally, where it is reached, and within which limits."""

from dataclasses import dataclass, field

from fermix.infrastructure.providers.local.files import ModelFile

PROVIDER = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeLimits:
    """How long things may take, in seconds.

    Attributes:
        load: from start to the first request.
        wait: for another request to finish.
        idle: without a request, after which the process is ended.
        end: each of the three steps of ending it.
    """

    load: float = 60.0
    wait: float = 120.0
    idle: float = 300.0
    end: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """Which model is served and how.

    Attributes:
        file: the model's file.
        model: the id it is served under.
        context_window: tokens, prompt and answer together.
        threads: for computing; `None` for one less than the machine has cores, at most 8.
    """

    file: ModelFile
    model: str
    context_window: int
    threads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the model answers while the lease lasts: an OpenAI-compatible server that requires the key."""

    base_url: str
    api_key: str = field(repr=False)
    model: str
