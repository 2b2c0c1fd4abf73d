"""What both wires share: the endpoint, the late-loaded client, and errors that are safe to show."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

import anyio
import anyio.to_thread

from fermix.application.ports.model import ModelAnswer, ModelError, ModelProfile
from fermix.domain.failure import Failure, FailureKind
from fermix.infrastructure.providers.openai.endpoint import Endpoint, EndpointSource
from fermix.infrastructure.providers.openai.inquiry import Inquiry, Listener
from fermix.infrastructure.providers.openai.redaction import redacted, safe_detail
from fermix.infrastructure.providers.openai.refusal import Refusal

if TYPE_CHECKING:
    from fermix.infrastructure.providers.openai.client import ProviderClient

_MAX_CAUSE = 2000


class ProviderFaultError(Exception):
    """The operator's cause of a `ModelError`: the client's own words, without secrets."""


class Exchange:
    """Asks one provider route. Loads the SDK with the first request or with `warm`, never before."""

    def __init__(self, *, profile: ModelProfile, endpoint: EndpointSource, timeout_seconds: float) -> None:
        self._profile = profile
        self._endpoint = endpoint
        self._timeout_seconds = timeout_seconds
        self._client: ProviderClient | None = None
        self._loading = anyio.Lock()

    async def warm(self) -> None:
        """Load the SDK (half a second) in a thread, so that the first request need not.

        Raises:
            ModelError: the proxy or certificates that the environment names cannot be used.
        """
        await self._loaded()

    async def aclose(self) -> None:
        """Close all connections; a later request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def ask(
        self,
        inquiry: Inquiry,
        listener: Listener,
        *,
        amend: Callable[[Refusal], Inquiry | None] = lambda _: None,
    ) -> ModelAnswer:
        """Send one request and read its stream.

        Args:
            inquiry: the request.
            listener: who is told what comes.
            amend: what to ask instead when the request as such was refused; asked once, if anything.

        Raises:
            ModelError: no whole answer came.
        """
        async with self._endpoint() as endpoint:
            outcome = _unusable(endpoint) or await self._attempt(endpoint, inquiry, listener)
            if isinstance(outcome, tuple) and (other := amend(outcome[0])) is not None:
                outcome = await self._attempt(endpoint, other, listener)
            if isinstance(outcome, ModelAnswer):
                return outcome
            refusal, cause = outcome
            if inquiry.shows_pictures:
                refusal = refusal.of_pictures()
            raise self._error(refusal, cause, secrets=tuple(_secrets(endpoint)))

    async def _attempt(
        self, endpoint: Endpoint, inquiry: Inquiry, listener: Listener
    ) -> ModelAnswer | tuple[Refusal, str]:
        client = await self._loaded()
        from fermix.infrastructure.providers.openai import streaming  # noqa: PLC0415 - imports the SDK

        return await streaming.stream_answer(client, endpoint, inquiry, listener)

    async def _loaded(self) -> "ProviderClient":
        async with self._loading:
            if self._client is None:
                loaded = await anyio.to_thread.run_sync(_load, self._timeout_seconds)
                if isinstance(loaded, Refusal):
                    raise self._error(loaded, loaded.detail, secrets=())
                self._client = loaded
            return self._client

    def _error(self, refusal: Refusal, cause: str, *, secrets: tuple[str, ...]) -> ModelError:
        error = ModelError(
            Failure(
                kind=refusal.kind,
                provider=self._profile.provider,
                model=self._profile.model,
                retry_after=refusal.retry_after,
                detail=safe_detail(refusal.detail, secrets=secrets),
            )
        )
        # The original exception may quote the key, and its request carries it.
        error.__cause__ = ProviderFaultError(redacted(cause[:_MAX_CAUSE], secrets=secrets))
        return error


def _load(timeout_seconds: float) -> "ProviderClient | Refusal":
    """Import the SDK and open a client; both take long enough to be felt, so this runs in a thread."""
    from fermix.infrastructure.providers.openai import streaming  # noqa: PLC0415 - imports the SDK

    return streaming.open_client(timeout_seconds)


def _unusable(endpoint: Endpoint) -> tuple[Refusal, str] | None:
    """Why no request can be made at all; asking the HTTP client would put a broken key into its error."""
    key = endpoint.api_key.text.strip() if endpoint.api_key is not None else ""
    if endpoint.key_required and not key:
        return Refusal(kind=FailureKind.CREDENTIAL_MISSING), "no key is configured"
    if not (key.isascii() and key.isprintable()) or " " in key:
        detail = "the configured key holds a line break or another character that no key can have"
        return Refusal(kind=FailureKind.CREDENTIAL_REFUSED, detail=detail), detail
    if endpoint.base_url is None:
        detail = "no base_url is configured"
        return Refusal(kind=FailureKind.UNREACHABLE, detail=detail), detail
    return None


def _secrets(endpoint: Endpoint) -> Iterator[str]:
    """The key and the password of the address, as they are and as they look inside an address."""
    known = [endpoint.api_key.text.strip()] if endpoint.api_key is not None else []
    try:
        password = urlsplit(endpoint.base_url or "").password
    except ValueError:
        password = None
    if password:
        known += [password, unquote(password)]
    for secret in known:
        yield secret
        if (quoted := quote(secret, safe="")) != secret:
            yield quoted
