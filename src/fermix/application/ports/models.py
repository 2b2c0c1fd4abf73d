"""Which model answers: the configured one, or the one a request names."""

from typing import Protocol

from fermix.application.ports.model import Model, ModelProfile


class Models(Protocol):
    """The models this configuration can reach."""

    def resolve(self, requested: str | None) -> Model:
        """The model for a turn.

        Args:
            requested: `provider/model`, or a model of the primary provider; `None` for the configured one.

        Raises:
            ModelError: no model can be used, or the requested one names no usable provider.
        """
        ...

    def primary(self) -> ModelProfile | None:
        """The route that answers when nothing is requested; `None` when there is none."""
        ...
