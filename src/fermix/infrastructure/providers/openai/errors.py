"""What the SDK and the HTTP client raise, as one refusal. Imports both, so it is loaded late."""

import socket
import ssl
from collections.abc import Iterator

import anyio
import httpx
import openai

from fermix.domain.failure import FailureKind
from fermix.infrastructure.providers.openai.refusal import AnswerRefusedError, Refusal
from fermix.infrastructure.providers.openai.replies import refusal_from_reply

FAULTS = (
    AnswerRefusedError,
    openai.OpenAIError,
    httpx.HTTPError,
    httpx.InvalidURL,
    httpx.StreamError,
    ssl.SSLError,
    anyio.EndOfStream,
)
"""Everything a request can raise besides cancellation and bugs; narrow, since the text callback runs inside."""

_ADVICE = "\nFor more information check:"

_STAGES: dict[type[Exception], str] = {
    httpx.ConnectTimeout: "no connection in time",
    httpx.WriteTimeout: "the request could not be sent in time",
    httpx.PoolTimeout: "all connections to this provider were busy",
    httpx.ReadTimeout: "the provider stopped sending",
}

_UNREACHABLE: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLCertVerificationError, "its certificate is not trusted"),
    (ssl.SSLError, "no secure connection could be made"),
    (httpx.ProxyError, "the proxy refused the connection"),
    (socket.gaierror, "its name cannot be resolved"),
    (ConnectionRefusedError, "nothing listens at this address"),
    (httpx.RemoteProtocolError, "the connection closed before an answer"),
    (httpx.ReadError, "the connection closed before an answer"),
)
"""The first that is found anywhere beneath the error names the reason."""


def refusal_from_exception(exc: BaseException, *, answering: bool) -> Refusal:
    """Sort an exception of `FAULTS`.

    Args:
        exc: what was raised.
        answering: whether the provider had begun its answer.
    """
    if isinstance(exc, AnswerRefusedError):
        return exc.refusal
    if isinstance(exc, openai.APIStatusError):
        headers = {name.lower(): value for name, value in exc.response.headers.items()}
        return refusal_from_reply(exc.status_code, headers, exc.response.text)
    return _transport_refusal(_transport_cause(exc), answering=answering)


def _transport_refusal(cause: BaseException, *, answering: bool) -> Refusal:
    kind, detail = FailureKind.UNREACHABLE, ""
    match cause:
        case httpx.TimeoutException():
            kind, detail = FailureKind.TIMED_OUT, _STAGES.get(type(cause), "")
        case _ if answering:
            kind, detail = FailureKind.PROVIDER_FAILED, "the answer was cut off"
        case httpx.UnsupportedProtocol() | httpx.InvalidURL():
            detail = "base_url is no http:// or https:// address"
        case httpx.RequestError() | ssl.SSLError() | anyio.EndOfStream():
            detail = _unreachable(cause)
        case _:
            kind, detail = FailureKind.PROVIDER_FAILED, f"unexpected {type(cause).__name__}"
    return Refusal(kind=kind, detail=detail)


def _transport_cause(exc: BaseException) -> BaseException:
    """The HTTP client's own error under the SDK's connection error."""
    if isinstance(exc, openai.APIConnectionError) and exc.__cause__ is not None:
        return exc.__cause__
    return exc


def _unreachable(cause: BaseException) -> str:
    beneath = [*_causes(cause)]
    for kind, detail in _UNREACHABLE:
        if any(isinstance(each, kind) for each in beneath):
            return detail
    return "the connection failed"


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    """An exception and all that led to it; a name with several addresses fails as a group."""
    while exc is not None:
        yield exc
        if isinstance(exc, BaseExceptionGroup):
            for each in exc.exceptions:
                yield from _causes(each)
        exc = exc.__cause__ or exc.__context__


def described(exc: BaseException) -> str:
    """An exception and what led to it, for the operator; not redacted.

    httpx ends what it says of a status with the address of a page about HTTP, which tells nobody anything.
    """
    return " <- ".join(f"{type(each).__name__}: {str(each).partition(_ADVICE)[0]}" for each in _causes(exc))
