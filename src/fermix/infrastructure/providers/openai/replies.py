"""Error replies and error objects of every provider, read as one refusal."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fermix.domain.failure import FailureKind
from fermix.infrastructure.providers.openai import wordings
from fermix.infrastructure.providers.openai.foreign import JsonObject, as_list, as_object, as_text, parsed
from fermix.infrastructure.providers.openai.refusal import Refusal
from fermix.infrastructure.providers.openai.waits import wait_asked_for

_NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorFacts:
    """What an error says, whatever its shape.

    Attributes:
        message: the words meant for people.
        codes: all its machine-readable names, in lower case.
        searchable: the message, and what a gateway quotes from the provider behind it.
        fields: the innermost object, for waits.
    """

    message: str
    codes: frozenset[str] = frozenset()
    searchable: str = ""
    fields: JsonObject = field(default_factory=dict)


def refusal_from_reply(status: int, headers: Mapping[str, str], body: str) -> Refusal:
    """Read an error reply.

    Args:
        status: the HTTP status.
        headers: names in lower case.
        body: as text, cut off at a bound; JSON or not.
    """
    value = parsed(body)
    html = body.lstrip()[:1] == "<"
    facts = _facts(value) if isinstance(value, dict | list) else ErrorFacts(message="" if html else body)
    kind = _kind(status, facts, html=html)
    wait = wait_asked_for(headers, facts.fields, facts.message) if _may_wait(kind) else None
    return Refusal(
        kind=kind,
        detail=_detail(kind, status, facts),
        retry_after=wait,
        status=status,
        names_vision=_names_vision(facts),
    )


def refusal_from_stream(error: object) -> Refusal:
    """Read an error object that came inside an answer; a numeric `code` counts as its HTTP status."""
    facts = _facts(error)
    status = next((int(code) for code in facts.codes if code.isdecimal() and len(code) == 3), 0)
    kind = _kind(status, facts, html=False)
    wait = wait_asked_for(_NO_HEADERS, facts.fields, facts.message) if _may_wait(kind) else None
    return Refusal(
        kind=kind,
        detail=_detail(kind, status, facts),
        retry_after=wait,
        names_vision=_names_vision(facts),
    )


def _may_wait(kind: FailureKind) -> bool:
    return kind in {FailureKind.RATE_LIMITED, FailureKind.PROVIDER_FAILED}


def _facts(value: object, codes: frozenset[str] = frozenset()) -> ErrorFacts:
    if isinstance(value, list):
        return _facts(value[0] if value else {}, codes)
    if isinstance(value, str):
        return ErrorFacts(message=value, codes=codes, searchable=value)
    fields = as_object(value)
    codes |= {
        str(fields[name]).lower() for name in ("code", "type", "status") if fields.get(name) is not None
    }
    inner = fields.get("error")
    if inner:
        return _facts(inner, codes)
    message = as_text(fields.get("message")) or as_text(fields.get("detail")) or _validation_messages(fields)
    quoted = as_text(as_object(fields.get("metadata")).get("raw"))
    return ErrorFacts(message=message, codes=codes, searchable=f"{message}\n{quoted}", fields=fields)


def _validation_messages(fields: JsonObject) -> str:
    """FastAPI's and Mistral's 422: a list of complaints under `detail`, or an object that holds one."""
    details = as_list(fields.get("detail")) or as_list(as_object(fields.get("message")).get("detail"))
    return "; ".join(filter(None, (_complaint(as_object(detail)) for detail in details[:5])))


def _complaint(detail: JsonObject) -> str:
    place = ".".join(str(step) for step in as_list(detail.get("loc")))
    return ": ".join(filter(None, (place, as_text(detail.get("msg")))))


def _kind(status: int, facts: ErrorFacts, *, html: bool) -> FailureKind:
    """The first rule that holds; the order matters, since words of several rules meet in one message."""
    rules = (
        (FailureKind.CREDENTIAL_REFUSED, status == 401),
        (FailureKind.RATE_LIMITED, bool(facts.codes & wordings.QUOTA_CODES)),
        (FailureKind.CONTEXT_TOO_LONG, _is_context_overflow(status, facts)),
        (FailureKind.RATE_LIMITED, status == 429 or bool(facts.codes & wordings.RATE_CODES)),
        (FailureKind.TIMED_OUT, status in {408, 504, 524} or bool(facts.codes & wordings.TIME_OUT_CODES)),
        (FailureKind.UNKNOWN_MODEL, status < 500 and _names_model(facts)),
        (FailureKind.CREDENTIAL_REFUSED, status < 500 and _names_key(status, facts, html=html)),
    )
    return next((kind for kind, holds in rules if holds), FailureKind.PROVIDER_FAILED)


def _is_context_overflow(status: int, facts: ErrorFacts) -> bool:
    if facts.codes & wordings.CONTEXT_CODES or status == 413:
        return True
    # At 429 and 403 the same words speak of a tokens-per-minute limit or a plan.
    return status not in {403, 429} and wordings.CONTEXT_WORDS.search(facts.searchable) is not None


def _names_model(facts: ErrorFacts) -> bool:
    return (
        bool(facts.codes & wordings.MODEL_CODES) or wordings.MODEL_WORDS.search(facts.searchable) is not None
    )


def _names_vision(facts: ErrorFacts) -> bool:
    return wordings.VISION_WORDS.search(facts.searchable) is not None


def _names_key(status: int, facts: ErrorFacts, *, html: bool) -> bool:
    if facts.codes & wordings.KEY_CODES or wordings.KEY_WORDS.search(facts.searchable):
        return True
    if status != 403 or html:
        return False
    return not facts.message.strip() or wordings.FORBIDDEN_WORDS.search(facts.searchable) is not None


def _detail(kind: FailureKind, status: int, facts: ErrorFacts) -> str:
    where = f"HTTP {status}" if status else ""
    # Refusals of a key like to quote it, so their words are not passed on.
    message = "" if kind is FailureKind.CREDENTIAL_REFUSED else facts.message.strip()
    if kind is FailureKind.RATE_LIMITED and facts.codes & wordings.QUOTA_CODES:
        message = (
            f"the account's quota is used up: {message}" if message else "the account's quota is used up"
        )
    if status == 404 and kind is FailureKind.PROVIDER_FAILED:
        message = message or "nothing answers at this address, base_url may be wrong"
    if 300 <= status < 400:
        message = "the server redirects elsewhere, base_url may be wrong"
    return ": ".join(part for part in (where, message) if part)
