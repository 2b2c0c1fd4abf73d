"""All settings in one value, put together from layers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from typing_extensions import override

from fermix.infrastructure.settings.agent import AgentSettings, PersonalizationSettings
from fermix.infrastructure.settings.channels import Channels
from fermix.infrastructure.settings.home import absolute_path
from fermix.infrastructure.settings.jobs import JobsSettings
from fermix.infrastructure.settings.limits import BudgetSettings, QueueSettings
from fermix.infrastructure.settings.mcp import McpSettings
from fermix.infrastructure.settings.memory import CompactionSettings, MemorySettings
from fermix.infrastructure.settings.providers import ProviderOverride, ProviderSettings, RoutingSettings
from fermix.infrastructure.settings.sandbox import SandboxSettings
from fermix.infrastructure.settings.section import FromCode, Section, Text
from fermix.infrastructure.settings.telemetry import TelemetrySettings
from fermix.infrastructure.settings.tools import ComputerUseSettings, ToolsSettings
from fermix.infrastructure.settings.transcription import TranscriptionSettings
from fermix.infrastructure.settings.web import WebSettings

_LAYERS = "layers"


class CoreSettings(Section):
    """`[fermix_core]`: the assistant itself."""

    profile: Annotated[Text, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")] = "general"
    """Separates the keychain entries of several homes."""
    secret_store: Literal["keyring", "file"] = "keyring"  # noqa: S105  # the name of a place
    """Where saved secrets go: the system's keychain, or files that only you can read."""
    agent: AgentSettings = AgentSettings()
    personalization: PersonalizationSettings = PersonalizationSettings()
    providers: Mapping[str, ProviderSettings] = Field(default_factory=dict)
    routing: RoutingSettings = RoutingSettings()
    compaction: CompactionSettings = CompactionSettings()
    transcription: TranscriptionSettings = TranscriptionSettings()
    memory: MemorySettings = MemorySettings()
    jobs: JobsSettings = JobsSettings()
    queue: QueueSettings = QueueSettings()
    budget: BudgetSettings = BudgetSettings()
    tools: ToolsSettings = ToolsSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    computer_use: ComputerUseSettings = ComputerUseSettings()
    override: Annotated[ProviderOverride, FromCode()] = ProviderOverride()


class Settings(BaseSettings):
    """Everything that can be set, checked and frozen. Secrets show as stars in every representation.

    Attributes:
        home: the absolute folder that holds everything.
        user_home: the person's home folder, which `~` in paths stands for.
        core: the assistant: agent, providers, queue, tools, …
        channels: the places people write from.
        web: the HTTP server.
        sandbox: what the agent's own commands may touch.
        mcp: tool servers.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    home: Annotated[Path, FromCode()]
    user_home: Annotated[Path, FromCode()]
    core: CoreSettings = Field(default=CoreSettings(), alias="fermix_core")
    channels: Channels = Field(default=Channels(), alias="fermix_channels")
    web: WebSettings = Field(default=WebSettings(), alias="fermix_web")
    sandbox: SandboxSettings = SandboxSettings()
    mcp: McpSettings = McpSettings()

    @classmethod
    def from_layers(cls, *layers: Mapping[str, Any]) -> Self:
        """Validate what the layers say together, the first one strongest; what none says has its default.

        Raises:
            pydantic.ValidationError: with a location for each wrong value.
        """
        return cls.model_validate({_LAYERS: layers})

    @classmethod
    @override
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only the given layers count, or plain arguments where there are none: never the process environment."""
        given = init_settings.init_kwargs if isinstance(init_settings, InitSettingsSource) else {}
        if _LAYERS not in given:
            return (init_settings,)
        return tuple(_Layer(settings_cls, layer) for layer in given[_LAYERS])

    def absolute(self, path: Path) -> Path:
        """A path of the file made absolute: `~` is the person's home, relative ones start at the home."""
        return absolute_path(path, base=self.home, user_home=self.user_home)

    @property
    def workspace(self) -> Path:
        """The folder the agent works in."""
        return self.absolute(self.sandbox.workspace_root or Path("workspace"))


class _Layer(PydanticBaseSettingsSource):
    """A table in the shape of the file, wherever it came from."""

    def __init__(self, settings_cls: type[BaseSettings], table: Mapping[str, Any]) -> None:
        super().__init__(settings_cls)
        self._table = dict(table)

    @override
    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        key = field.alias or field_name
        return self._table.get(key), key, False

    @override
    def __call__(self) -> dict[str, Any]:
        return self._table
