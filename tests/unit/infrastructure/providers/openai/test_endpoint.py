"""Where a provider is reached, and which wire it speaks when nobody says."""

import anyio
import pytest

from fermix.infrastructure.providers.openai.endpoint import ApiKey, Endpoint, fixed_endpoint
from fermix.infrastructure.providers.openai.factory import Wire, default_wire


def entered(provider: str, base_url: str | None = None, api_key: str | None = None) -> Endpoint:
    async def enter() -> Endpoint:
        async with fixed_endpoint(provider, base_url=base_url, api_key=api_key)() as endpoint:
            return endpoint

    return anyio.run(enter)


def test_a_key_does_not_show_when_it_is_printed() -> None:
    assert "s3cret" not in repr(entered("openai", api_key="s3cret"))
    assert "s3cret" not in str(ApiKey("s3cret"))


@pytest.mark.parametrize(
    ("provider", "base_url", "required"),
    [
        ("openai", None, True),
        ("xai", None, True),
        ("ollama", None, False),
        ("mine", "http://127.0.0.1:9/v1", False),
    ],
)
def test_only_an_address_that_somebody_named_may_go_without_a_key(
    provider: str, base_url: str | None, required: bool
) -> None:
    endpoint = entered(provider, base_url)

    assert endpoint.key_required is required
    assert endpoint.base_url


def test_an_unknown_provider_without_address_has_none() -> None:
    assert entered("mine", api_key="k").base_url is None


@pytest.mark.parametrize(
    ("provider", "base_url", "wire"),
    [
        ("openai", None, Wire.RESPONSES),
        ("xai", None, Wire.RESPONSES),
        ("openai", "http://127.0.0.1/v1", Wire.CHAT_COMPLETIONS),
        ("ollama", None, Wire.CHAT_COMPLETIONS),
    ],
)
def test_the_wire_follows_from_the_provider(provider: str, base_url: str | None, wire: Wire) -> None:
    assert default_wire(provider, base_url=base_url) is wire
