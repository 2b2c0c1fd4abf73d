"""The sandbox that the settings state."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path, PurePath

from fermix.domain.sandbox import Sandbox, SandboxGround, SandboxMode, SandboxPolicy, protected_paths
from fermix.domain.sandbox_commands import CommandPreset, CommandProfile, CommandRules, OfferedCommand
from fermix.domain.sandbox_environment import (
    EnvironmentMode,
    EnvironmentRules,
    FromDaemon,
    FromProgram,
    VariableSource,
)
from fermix.infrastructure.settings.home import absolute_path
from fermix.infrastructure.settings.sandbox import (
    SandboxCommands,
    SandboxEnvironment,
    SandboxSettings,
    SandboxVariable,
)

WORKSPACE = Path("workspace")
"""Where the agent works unless the settings say otherwise, below the home."""


def sandbox_of(
    stated: SandboxSettings, *, home: Path, user_home: Path, launch_folder: PurePath | None
) -> Sandbox:
    """The sandbox with absolute paths as they are written; nothing is looked at.

    Args:
        home: absolute; relative paths of the settings start there.
        user_home: what `~` stands for.
        launch_folder: where the gateway was started, if it runs.
    """

    def absolute(path: Path) -> PurePath:
        return absolute_path(path, base=home, user_home=user_home)

    return Sandbox(
        policy=SandboxPolicy(
            mode=SandboxMode(stated.mode),
            workspace=absolute(stated.workspace_root or WORKSPACE),
            allowed=tuple(map(absolute, stated.allowed_roots)),
            blocked=tuple(map(absolute, stated.blocked_roots)),
            environment=_environment(stated.env),
            commands=_commands(stated.commands),
        ),
        ground=SandboxGround(
            user_home=user_home,
            home=home,
            protected=protected_paths(user_home=user_home, home=home),
            launch_folder=launch_folder,
        ),
    )


def _environment(stated: SandboxEnvironment) -> EnvironmentRules:
    sources: Mapping[str, VariableSource] = {
        name: _source(name, variable) for name, variable in stated.variables.items()
    }
    return EnvironmentRules(
        mode=EnvironmentMode(stated.mode), allow=stated.allow, deny=stated.deny, sources=sources
    )


def _source(name: str, variable: SandboxVariable) -> VariableSource:
    if variable.source == "command" and variable.command is not None:
        return FromProgram(
            command=variable.command,
            arguments=variable.args,
            time_limit=timedelta(milliseconds=variable.timeout_ms),
        )
    return FromDaemon(name=variable.name or name)


def _commands(stated: SandboxCommands) -> CommandRules:
    return CommandRules(
        profile=CommandProfile(stated.profile),
        presets=tuple(CommandPreset(preset) for preset in stated.presets),
        own={
            name: OfferedCommand(
                command=command.command,
                arguments=command.args,
                variables=command.pass_env,
                time_limit=timedelta(milliseconds=command.timeout_ms),
                description=command.description,
                enabled=command.enabled,
            )
            for name, command in stated.commands.items()
        },
    )
