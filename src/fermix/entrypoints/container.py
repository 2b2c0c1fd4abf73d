"""Who is made of what. Builds objects; opens and closes nothing."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeVar

from dependency_injector import containers, providers

from fermix.application.agent.loop import AgentLoop
from fermix.application.agent.prompt import Persona
from fermix.application.agent.toolbox import Toolbox
from fermix.application.commands.approving import CarryOutApprovals
from fermix.application.commands.desk import ApprovalDesk
from fermix.application.delivery.deliverer import Deliverer
from fermix.application.gateway.consequences import Consequences
from fermix.application.gateway.dispatcher import Dispatcher, turn_slots
from fermix.application.gateway.files import SweepFiles
from fermix.application.gateway.gateway import Gateway
from fermix.application.gateway.health import HealthBoard
from fermix.application.gateway.serve import Core, Served, ServeSettings
from fermix.application.media.preparer import Preparer
from fermix.application.operations.ask import Ask
from fermix.application.operations.control import Operations
from fermix.application.operations.lanes import Lanes
from fermix.application.operations.uploads import KeepUploads
from fermix.application.ports.blobs import Blobs
from fermix.application.ports.channel import Channel, buttons_of
from fermix.application.ports.clock import Clock, Ids
from fermix.application.ports.control import Identity, OwnerKind
from fermix.application.ports.file_inbox import FileInbox
from fermix.application.ports.lane_control import LaneControl
from fermix.application.ports.local_clients import LocalClients
from fermix.application.ports.models import Models
from fermix.application.ports.ownership import Retention
from fermix.application.ports.pictures import Pictures
from fermix.application.ports.policies import PolicySource
from fermix.application.ports.sandbox import SandboxSource
from fermix.application.ports.telemetry import Telemetry
from fermix.application.ports.tools import Tool
from fermix.application.ports.transcription import Transcriber
from fermix.application.ports.workspace import Workspace
from fermix.application.turns.access import OfferAccess, Sandboxed
from fermix.application.turns.events import TurnEvents
from fermix.application.turns.measuring import stream_observer
from fermix.application.turns.reply import OfferReply
from fermix.application.turns.run_turn import RunTurn, TurnSettings, TurnTools
from fermix.application.turns.settle import SettleTurn
from fermix.application.turns.streaming import StreamReplies
from fermix.application.turns.taking_in import TakeIn
from fermix.application.turns.typing import ShowTyping
from fermix.domain.approvals import TOKEN_BYTES
from fermix.domain.ids import ChannelName
from fermix.entrypoints.channels import (
    channels_of,
    doors,
    enabled_in_file,
    features_of,
    initial_health,
    provider_health,
    streaming_modes,
)
from fermix.entrypoints.media import made_with, preparer_of
from fermix.entrypoints.plugin_channels import PluginChannels, Plugins, details_of, plugin_channels
from fermix.entrypoints.surroundings import Surroundings
from fermix.infrastructure.channels.cli.channel import CliChannel
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger
from fermix.infrastructure.pictures.preparing import DecodedPictures
from fermix.infrastructure.sandbox.changes import FileSandboxChanges
from fermix.infrastructure.sandbox.live import LiveSandbox
from fermix.infrastructure.sandbox.policies import LivePolicies
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.policies import SettingsPolicies
from fermix.infrastructure.system.child_python import Launch, child_environment
from fermix.infrastructure.system.clock import SystemClock
from fermix.infrastructure.system.ids import Uuids
from fermix.infrastructure.telemetry.metrics import Metrics
from fermix.infrastructure.telemetry.reporter import Reporter
from fermix.infrastructure.telemetry.traces import TraceWriter
from fermix.infrastructure.tools.registry import built_in_tools
from fermix.infrastructure.workspace.inbox import FolderInbox
from fermix.infrastructure.workspace.roots import Places

_T = TypeVar("_T")


def _persona(settings: Settings) -> Persona:
    person = settings.core.personalization
    return Persona(
        name=settings.core.agent.name,
        user_name=person.user_name,
        communication_style=person.communication_style,
        timezone=person.timezone,
    )


def _turn_settings(settings: Settings) -> TurnSettings:
    return TurnSettings(
        persona=_persona(settings),
        time_limit=timedelta(seconds=settings.core.agent.turn_timeout_seconds),
    )


def _serve_settings(settings: Settings) -> ServeSettings:
    queue = settings.core.queue
    return ServeSettings(
        grace=timedelta(seconds=queue.drain_seconds),
        retention=Retention(
            sent_parts=timedelta(days=queue.keep_sent_days),
            bodies=timedelta(days=queue.keep_sent_days),
            keys=timedelta(days=queue.keep_keys_days),
        ),
    )


def _slots(settings: Settings, models: Models) -> int:
    return turn_slots(settings.core.agent.max_concurrent_turns, models.primary())


def _largest_upload(channel: Channel) -> int:
    return channel.features.media_in or 0


def _itself(value: _T) -> _T:
    """The same object as its port: a `Provider` of an adapter is no `Provider` of what it implements."""
    return value


class Container(containers.DeclarativeContainer):
    """One gateway. Every object of one home is made here, and nothing outlives the container.

    What must be opened (the ledger, the models) and what is known only then (the owner's identity) comes in
    as a dependency; `lifespan.open_container` provides it.
    """

    settings = providers.Dependency(instance_of=Settings)
    plugins: providers.Provider[Plugins] = providers.Dependency()
    ledger = providers.Dependency(instance_of=SqliteLedger)
    identity = providers.Dependency(instance_of=Identity)
    surroundings = providers.Dependency(instance_of=Surroundings)
    blobs: providers.Provider[Blobs] = providers.Dependency()
    environ: providers.Provider[Mapping[str, str]] = providers.Dependency()
    models: providers.Provider[Models] = providers.Dependency()
    workspace: providers.Provider[Workspace] = providers.Dependency()
    transcriber: providers.Provider[Transcriber | None] = providers.Dependency()
    traces = providers.Dependency(instance_of=TraceWriter)

    clock: providers.Provider[Clock] = providers.Singleton(SystemClock)
    ids: providers.Provider[Ids] = providers.Singleton(Uuids)
    reporter: providers.Provider[Reporter] = providers.Singleton(Reporter, traces, clock)
    telemetry: providers.Provider[Telemetry] = providers.Callable(_itself, reporter)
    settings_policies: providers.Provider[SettingsPolicies] = providers.Singleton(
        SettingsPolicies, settings=settings
    )
    live_sandbox: providers.Provider[LiveSandbox] = providers.Singleton(
        LiveSandbox, settings=settings, launch_folder=surroundings.provided.launch_folder
    )
    live_policies: providers.Provider[LivePolicies] = providers.Singleton(
        LivePolicies, access=settings_policies, sandbox=live_sandbox
    )
    policies: providers.Provider[PolicySource] = providers.Callable(_itself, live_policies)
    places: providers.Provider[Places] = providers.Singleton(Places, sandbox=live_sandbox.provided.stated)
    sandbox: providers.Provider[SandboxSource] = providers.Callable(_itself, live_sandbox)
    sandbox_changes: providers.Provider[FileSandboxChanges] = providers.Singleton(
        FileSandboxChanges,
        settings=settings,
        sandbox=live_sandbox,
        environ=environ,
    )

    pictures: providers.Provider[Pictures] = providers.Singleton(
        DecodedPictures,
        blobs=blobs,
        launch=providers.Factory(Launch, environment=providers.Callable(child_environment, environ)),
    )
    inbox: providers.Provider[FileInbox] = providers.Singleton(
        FolderInbox, places=places, blobs=blobs, ids=ids
    )

    cli_channel: providers.Provider[CliChannel] = providers.Singleton(CliChannel, blobs=blobs)
    clients: providers.Provider[LocalClients] = providers.Callable(_itself, cli_channel)
    foreign_channels: providers.Provider[PluginChannels] = providers.Singleton(
        plugin_channels,
        settings=settings,
        plugins=plugins,
        kind=identity.provided.kind,
        clock=clock,
        around=surroundings,
    )
    remote_channels: providers.Provider[Mapping[ChannelName, Channel]] = providers.Singleton(
        lambda ours, theirs: {**ours, **theirs},
        providers.Callable(
            channels_of, settings=settings, kind=identity.provided.kind, clock=clock, around=surroundings
        ),
        foreign_channels.provided.channels,
    )
    served: providers.Provider[Mapping[ChannelName, Served]] = providers.Singleton(
        doors, settings=settings, local=cli_channel, remote=remote_channels
    )
    reachable: providers.Provider[Mapping[ChannelName, Channel]] = providers.Singleton(
        lambda served: {name: one.channel for name, one in served.items()}, served
    )

    board: providers.Provider[HealthBoard] = providers.Singleton(
        HealthBoard,
        providers=providers.Callable(provider_health, settings, models),
        channels=providers.Callable(
            initial_health,
            settings,
            served,
            providers.Callable(details_of, settings, plugins, foreign_channels),
        ),
        required=providers.Callable(enabled_in_file, settings),
    )

    events: providers.Provider[TurnEvents] = providers.Singleton(TurnEvents)
    deliverer: providers.Provider[Deliverer] = providers.Singleton(
        Deliverer,
        outbox=ledger.provided.outbox,
        channels=reachable,
        clock=clock,
        ids=ids,
        waits=board.provided.ledger_waits,
        telemetry=telemetry,
    )
    tools: providers.Provider[Sequence[Tool]] = providers.Callable(built_in_tools, workspace, blobs)
    toolbox: providers.Provider[Toolbox] = providers.Singleton(
        Toolbox, tools, computer_use=settings.provided.core.computer_use.enabled
    )
    settle: providers.Provider[SettleTurn] = providers.Singleton(
        SettleTurn,
        turns=ledger.provided.turns,
        deliverer=deliverer,
        events=events,
        clock=clock,
        features=providers.Callable(features_of, served),
        waits=board.provided.ledger_waits,
    )
    desk: providers.Provider[ApprovalDesk] = providers.Singleton(
        ApprovalDesk,
        clock=clock,
        ids=ids,
        random=providers.Object(partial(secrets.token_bytes, TOKEN_BYTES)),
        keeps_waiting=providers.Callable(lambda kind: kind is OwnerKind.DAEMON, identity.provided.kind),
    )
    access: providers.Provider[OfferAccess] = providers.Singleton(
        OfferAccess,
        sandbox=providers.Singleton(Sandboxed, view=sandbox_changes, changes=sandbox_changes),
        desk=desk,
        channels=reachable,
        deliverer=deliverer,
        events=events,
    )
    turn_tools: providers.Provider[TurnTools] = providers.Singleton(
        TurnTools,
        loop=providers.Singleton(
            AgentLoop,
            max_iterations=settings.provided.core.agent.max_iterations,
            telemetry=telemetry,
            blobs=blobs,
        ),
        toolbox=toolbox,
        models=models,
        settings=providers.Callable(_turn_settings, settings),
        typing=providers.Singleton(ShowTyping, channels=reachable, clock=clock),
        streaming=providers.Singleton(
            StreamReplies,
            channels=reachable,
            modes=providers.Callable(streaming_modes, settings),
            events=events,
            deliverer=deliverer,
            observe=providers.Callable(stream_observer, telemetry),
        ),
        observe=board.provided.provider,
        telemetry=telemetry,
        access=access,
        take_in=providers.Singleton(TakeIn, inbox=inbox),
        reply=providers.Singleton(OfferReply, channels=reachable, deliverer=deliverer),
    )
    run_turn: providers.Provider[RunTurn] = providers.Singleton(
        RunTurn,
        turns=ledger.provided.turns,
        conversations=ledger.provided.conversations,
        policies=policies,
        tools=turn_tools,
        settle=settle,
        clock=clock,
    )
    preparer: providers.Provider[Preparer] = providers.Singleton(
        preparer_of,
        providers.Callable(made_with, settings, blobs=blobs, pictures=pictures, transcriber=transcriber),
        queue=ledger.provided.media,
        channels=reachable,
        clock=clock,
        telemetry=telemetry,
    )
    dispatcher: providers.Provider[Dispatcher] = providers.Singleton(
        Dispatcher,
        turns=ledger.provided.turns,
        run_turn=run_turn,
        events=events,
        clock=clock,
        channels=reachable,
        slots=providers.Callable(_slots, settings, models),
        preparation=preparer,
    )
    gateway: providers.Provider[Gateway] = providers.Singleton(
        Gateway,
        admissions=ledger.provided.admissions,
        policies=policies,
        consequences=providers.Singleton(
            Consequences,
            admissions=ledger.provided.admissions,
            dispatcher=dispatcher,
            deliverer=deliverer,
            clock=clock,
            carries_out=providers.Singleton(
                CarryOutApprovals,
                changes=sandbox_changes,
                desk=desk,
                admissions=ledger.provided.admissions,
                buttons=providers.Callable(buttons_of, reachable),
            ),
        ),
        board=board,
        clock=clock,
        telemetry=telemetry,
    )
    ask: providers.Provider[Ask] = providers.Singleton(
        Ask,
        gateway=gateway,
        dispatcher=dispatcher,
        deliverer=deliverer,
        turns=ledger.provided.turns,
        events=events,
        clients=clients,
    )
    lanes: providers.Provider[LaneControl] = providers.Singleton(
        Lanes,
        conversations=ledger.provided.conversations,
        queue_view=ledger.provided.queue,
        gateway=gateway,
        clients=clients,
        clock=clock,
    )
    operations: providers.Provider[Operations] = providers.Singleton(
        Operations,
        identity=identity,
        started_at=clock.provided.now.call(),
        ask_operation=ask,
        uploads=providers.Singleton(
            KeepUploads, blobs=blobs, limit=providers.Callable(_largest_upload, cli_channel)
        ),
        blobs=blobs,
        lanes=lanes,
        dispatcher=dispatcher,
        queue=ledger.provided.queue,
        board=board,
        refused_lately=gateway.provided.refused_lately,
    )
    core: providers.Provider[Core] = providers.Singleton(
        Core,
        gateway=gateway,
        dispatcher=dispatcher,
        deliverer=deliverer,
        admissions=ledger.provided.admissions,
        turns=ledger.provided.turns,
        ownership=ledger.provided.ownership,
        board=board,
        clock=clock,
        telemetry=telemetry,
        preparer=preparer,
        files=providers.Singleton(SweepFiles, blobs=blobs, names=ledger.provided.blob_names, clock=clock),
    )
    metrics: providers.Provider[Metrics] = providers.Singleton(Metrics, reporter=reporter, control=operations)
    serve_settings: providers.Provider[ServeSettings] = providers.Singleton(_serve_settings, settings)
