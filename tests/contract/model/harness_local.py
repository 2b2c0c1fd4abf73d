"""The local model under the hands of the suite: the real process with a real, small model."""

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from fermix.application.ports.model import Model
from fermix.infrastructure.providers.local.profile import other_profile
from fermix.infrastructure.providers.local.runtime import open_local_runtime
from fermix.infrastructure.providers.openai.endpoint import ApiKey, Endpoint
from fermix.infrastructure.providers.openai.factory import Wire, build_model
from fermix.testing.model_conformance import CannotArrange, Deed, Gap, Trouble
from tests.contract.model.harness_endpoint import BETWEEN, WRONG_KEY, TroubledEndpoint, closed_port

_OWN_WORDS = "a real model says what it will"
_NO_TROUBLE = "the process of the model cannot be brought to it"
_NO_PICTURES = "the model sees no pictures"
_UNSEEN = "what arrives at the process of the model cannot be seen"

GAPS = (
    *(
        Gap(check=check, reason=_OWN_WORDS)
        for check in (
            "a_text_arrives_as_it_was_written",
            "calls_keep_their_ids_and_their_order",
            "every_call_has_an_id",
            "arguments_come_as_they_were_written",
            "usage_is_what_the_provider_reports",
            "thoughts_go_back_to_their_maker_alone",
            "a_thought_is_told_before_the_words_and_is_none_of_them",
        )
    ),
    *(
        Gap(check=check, reason=_NO_PICTURES)
        for check in (
            "pictures_are_shown_as_they_are_and_in_their_order",
            "a_picture_that_a_request_does_not_hold_is_not_shown",
        )
    ),
    *(
        Gap(check=check, reason=_NO_TROUBLE)
        for check in (
            "a_model_without_vision_is_told",
            "a_refused_picture_is_told",
            "an_unknown_model_is_told",
            "a_rate_limit_keeps_its_wait",
            "a_rate_limit_invents_no_wait",
            "a_request_too_long_is_told",
            "silence_ends_in_time",
            "silence_before_words_ends_in_time",
            "silence_among_words_ends_in_time",
            "a_cut_stream_is_no_answer",
            "a_call_in_a_cut_stream_is_not_handed_out",
            "an_error_in_a_stream_is_a_failure",
            "a_failure_is_not_asked_again",
            "who_leaves_a_silent_provider_is_seen_leaving",
        )
    ),
)


class LocalProvider:
    """The `Provider` of the local model: only what lies before it can be arranged."""

    def __init__(self, endpoint: TroubledEndpoint) -> None:
        self._endpoint = endpoint

    def will(self, *deeds: Deed) -> None:
        for deed in deeds:
            if not isinstance(deed, Trouble):
                raise CannotArrange(_OWN_WORDS)
            if deed not in BETWEEN:
                raise CannotArrange(_NO_TROUBLE)
            self._endpoint.script.append(deed)

    async def asked(self, times: int) -> None:
        raise CannotArrange(_UNSEEN)

    @property
    def requests(self) -> int:
        raise CannotArrange(_UNSEEN)

    async def left(self) -> None:
        raise CannotArrange(_UNSEEN)

    def shown(self) -> list[bytes]:
        raise CannotArrange(_UNSEEN)

    def was_told(self, words: str) -> bool:
        raise CannotArrange(_UNSEEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLocal:
    model: Model
    provider: LocalProvider
    secrets: tuple[str, ...]

    @property
    def elsewhere(self) -> Model:
        raise CannotArrange("there is one local model")


class LocalHarness:
    """A `ModelHarness` over the runtime; its process starts with the first question."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def patience(self) -> timedelta:
        return timedelta(seconds=10)

    @asynccontextmanager
    async def open(self, *, impatient: bool = False) -> AsyncGenerator[OpenLocal]:
        key = secrets.token_urlsafe(32)
        local = other_profile(self._file, context_window=1024)
        server = replace(local.server(), threads=1)
        async with open_local_runtime(server=server, new_key=lambda: key) as runtime:

            @asynccontextmanager
            async def leased() -> AsyncGenerator[Endpoint]:
                async with runtime.lease() as lease:
                    yield Endpoint(base_url=lease.base_url, api_key=ApiKey(lease.api_key))

            with closed_port() as nobody:
                endpoint = TroubledEndpoint(leased, nobody=nobody)
                model = build_model(
                    profile=local.profile,
                    wire=Wire.CHAT_COMPLETIONS,
                    endpoint=endpoint,
                    timeout_seconds=30,
                    extra_body={"max_tokens": 12},
                )
                try:
                    yield OpenLocal(model=model, provider=LocalProvider(endpoint), secrets=(key, WRONG_KEY))
                finally:
                    await model.aclose()
