"""Our values as the JSON of the control socket. Pure; the server's side, and whoever may load the whole domain."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, assert_never

from fermix.application.ports.control import (
    AskAccepted,
    AskEnded,
    AskPart,
    AskProgress,
    AskRequest,
    ChannelHealth,
    ChannelStatus,
    Health,
    Identity,
    OwnerKind,
    ProviderHealth,
    Readiness,
    Status,
)
from fermix.application.ports.remarks import Remark
from fermix.application.ports.uploads import Upload
from fermix.domain.events import (
    Gap,
    PromptShown,
    StepStarted,
    TextDelta,
    ThoughtTold,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnEvent,
    TurnSettled,
    TurnStarted,
)
from fermix.domain.failure import Failure
from fermix.infrastructure.local_socket.fields import Fields, Malformed
from fermix.infrastructure.local_socket.protocol import MAX_NAME_CHARACTERS, VERSION


def decode_ask(
    params: Mapping[str, Any], *, named: Callable[[Sequence[str]], tuple[Upload, ...]]
) -> AskRequest:
    """The question of an `ask`.

    Args:
        params: of the request.
        named: the files of these names, which came before; raises `Malformed`.

    Raises:
        Malformed: a field is missing, of another type, or blank where it must not be.
    """
    fields = Fields(params, "ask")
    text = fields.text("text")
    files = named(fields.texts("files")) if "files" in fields else ()
    if not text.strip() and not files:
        raise Malformed("The ask's `text` must not be blank.")
    session = fields.text("session", max_characters=MAX_NAME_CHARACTERS)
    if not session.strip():
        raise Malformed("The ask's `session` must not be blank.")
    return AskRequest(
        request=fields.text("request", max_characters=MAX_NAME_CHARACTERS),
        text=text,
        session=session,
        new=fields.flag("new"),
        model=fields.optional_text("model"),
        cwd=fields.optional_text("cwd"),
        user=fields.text("user", max_characters=MAX_NAME_CHARACTERS),
        files=files,
    )


def encode_ask_event(event: AskAccepted | AskProgress | AskPart) -> dict[str, Any]:
    """An event of an `ask` that is not its end."""
    match event:
        case AskAccepted():
            return {"type": "accepted", "turn": event.turn}
        case AskPart():
            return {"type": "part", "text": event.text}
        case AskProgress():
            return {"number": event.event.number, **_encode_turn_event(event.event.event)}
        case _:
            assert_never(event)


def encode_ask_end(end: AskEnded) -> dict[str, Any]:
    """The end of an `ask`: its result."""
    return {
        "end": end.end.value,
        "text": end.text,
        "notice": end.notice,
        "outcome": None if end.outcome is None else end.outcome.value,
        "failure": _encode_failure(end.failure),
        "provider": end.provider,
        "model": end.model,
    }


def encode_identity(identity: Identity) -> dict[str, Any]:
    """Who answers, and in which version of the protocol."""
    return {
        "instance": identity.instance,
        "epoch": identity.epoch,
        "home": identity.home,
        "version": identity.version,
        "pid": identity.pid,
        "kind": identity.kind.value,
        "protocol": VERSION,
    }


def decode_identity(content: Mapping[str, Any]) -> Identity:
    """Who answers.

    Raises:
        Malformed: a field is missing or of another type.
    """
    fields = Fields(content, "identity")
    return Identity(
        instance=fields.text("instance"),
        epoch=fields.whole("epoch"),
        home=fields.text("home"),
        version=fields.text("version"),
        pid=fields.whole("pid"),
        kind=fields.choice("kind", OwnerKind),
    )


def encode_health(health: Health) -> dict[str, Any]:
    """Health of everything."""
    return {
        "status": health.status.value,
        "providers": [
            {
                "name": one.name,
                "model": one.model,
                "status": one.status.value,
                "detail": one.detail,
                "auth_mode": one.auth_mode,
                "primary": one.primary,
            }
            for one in health.providers
        ],
        "channels": [_encode_channel(one) for one in health.channels],
        "failures": list(health.failures),
    }


def decode_health(content: Mapping[str, Any]) -> Health:
    """Health of everything.

    Raises:
        Malformed: a field is missing or of another type.
    """
    fields = Fields(content, "health")
    return Health(
        status=fields.choice("status", Readiness),
        providers=tuple(_decode_provider(one) for one in fields.mappings("providers")),
        channels=tuple(_decode_channel(one) for one in fields.mappings("channels")),
        failures=fields.texts("failures"),
    )


def encode_status(status: Status) -> dict[str, Any]:
    """How the gateway stands."""
    return {
        "identity": encode_identity(status.identity),
        "started_at": status.started_at.isoformat(),
        "draining": status.draining,
        "health": encode_health(status.health),
        "waiting": status.waiting,
        "running": status.running,
        "paused": status.paused,
        "open_parts": status.open_parts,
        "http_port": status.http_port,
    }


def decode_status(content: Mapping[str, Any]) -> Status:
    """How the gateway stands.

    Raises:
        Malformed: a field is missing or of another type.
    """
    fields = Fields(content, "status")
    return Status(
        identity=decode_identity(fields.mapping("identity")),
        started_at=decode_moment(fields, "started_at"),
        draining=fields.flag("draining"),
        health=decode_health(fields.mapping("health")),
        waiting=fields.whole("waiting"),
        running=fields.whole("running"),
        paused=fields.whole("paused"),
        open_parts=fields.whole("open_parts"),
        http_port=fields.optional_whole("http_port"),
    )


def decode_moment(fields: Fields, name: str) -> datetime:
    """A field's instant, with its time zone.

    Raises:
        Malformed: it is none, or has no zone.
    """
    try:
        moment = datetime.fromisoformat(fields.text(name))
    except ValueError:
        raise Malformed(f"The `{name}` is not a time.") from None
    if moment.tzinfo is None:
        raise Malformed(f"The `{name}` has no time zone.")
    return moment


def _encode_turn_event(event: TurnEvent) -> dict[str, Any]:  # noqa: C901, PLR0911 - one return for each kind
    match event:
        case TurnStarted():
            return {"type": "turn_started", "provider": event.provider, "model": event.model}
        case TextDelta():
            return {"type": "text_delta", "text": event.text}
        case ThoughtTold():
            return {"type": "thought_told", "text": event.text}
        case StepStarted():
            return {"type": "step_started", "step": event.step}
        case ToolStarted():
            return {"type": "tool_started", "call_id": event.call_id, "name": event.name}
        case ToolFinished():
            return {
                "type": "tool_finished",
                "call_id": event.call_id,
                "name": event.name,
                "failed": event.failed,
            }
        case PromptShown():
            return {"type": "prompt_shown", "text": event.text}
        case TurnSettled():
            return {
                "type": "turn_settled",
                "outcome": event.outcome.value,
                "text": event.text,
                "failure": _encode_failure(event.failure),
            }
        case TurnCompleted():
            return {"type": "turn_completed", "outcome": event.outcome.value}
        case Gap():
            return {"type": "gap", "missed": event.missed}
        case _:
            assert_never(event)


def _encode_failure(failure: Failure | None) -> dict[str, Any] | None:
    if failure is None:
        return None
    wait = failure.retry_after
    return {
        "kind": failure.kind.value,
        "provider": failure.provider,
        "model": failure.model,
        "retry_after_seconds": None if wait is None else wait.total_seconds(),
        "detail": failure.detail,
    }


def _decode_provider(content: Mapping[str, Any]) -> ProviderHealth:
    fields = Fields(content, "provider")
    return ProviderHealth(
        name=fields.text("name"),
        model=fields.optional_text("model"),
        status=fields.choice("status", Readiness),
        detail=fields.optional_text("detail"),
        auth_mode=fields.optional_text("auth_mode"),
        primary="primary" in fields and fields.flag("primary"),
    )


def _encode_channel(channel: ChannelHealth) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": channel.name,
        "status": channel.status.value,
        "detail": channel.detail,
        "mode": channel.mode,
    }
    if channel.unreadable:
        told["unreadable"] = channel.unreadable
    if channel.remarks:
        told["remarks"] = [{"text": one.text, "is_trouble": one.is_trouble} for one in channel.remarks]
    return told


def _decode_channel(content: Mapping[str, Any]) -> ChannelHealth:
    fields = Fields(content, "channel")
    return ChannelHealth(
        name=fields.text("name"),
        status=fields.choice("status", ChannelStatus),
        detail=fields.optional_text("detail"),
        unreadable=fields.optional_whole("unreadable") or 0,
        mode=fields.optional_text("mode"),
        remarks=tuple(_decode_remark(one) for one in fields.mappings("remarks"))
        if "remarks" in fields
        else (),
    )


def _decode_remark(content: Mapping[str, Any]) -> Remark:
    fields = Fields(content, "remark")
    return Remark(text=fields.text("text"), is_trouble=fields.flag("is_trouble"))
