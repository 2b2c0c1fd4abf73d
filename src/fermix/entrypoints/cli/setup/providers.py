"""What a model service needs before it can answer, and which cannot run here. Pure."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from fermix.entrypoints.cli.setup.answers import ProviderAnswer
from fermix.entrypoints.cli.setup.present import PROVIDERS, Present
from fermix.entrypoints.cli.setup.values import Unfit
from fermix.infrastructure.settings.known_providers import (
    EFFORTLESS,
    KNOWN_NAMES,
    KNOWN_PROVIDERS,
    LOCAL,
    OTHER,
    KnownProvider,
)
from fermix.infrastructure.settings.nearest import nearest_name

SERVER = "server"
"""Stands for any other service, which is known by its address."""

OFFERED: Mapping[str, str] = MappingProxyType(
    {
        "openai": "a key of platform.openai.com",
        "xai": "a key of console.x.ai",
        "openrouter": "a key of openrouter.ai, many models",
        "mistral": "a key of console.mistral.ai",
        "ollama": "models on a machine of yours, without a key",
        SERVER: "any other server that speaks the OpenAI protocol, by its address",
        LOCAL: "the small built-in model: no key, no account, no tools",
    }
)

KEY_PAGES: Mapping[str, str] = MappingProxyType(
    {
        "openai": "https://platform.openai.com/api-keys",
        "xai": "https://console.x.ai",
        "openrouter": "https://openrouter.ai/keys",
        "mistral": "https://console.mistral.ai/api-keys",
    }
)

_SPELLING = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)

OAUTH = (
    'signing in with a subscription (auth_mode = "oauth") is something this version cannot do; '
    "it needs a key of the service"
)


def facts(name: str) -> KnownProvider:
    """What is known of a service by its name."""
    return KNOWN_PROVIDERS.get(name, OTHER)


def check_spelling(name: str) -> None:
    """Look whether a section can be called so.

    Raises:
        Unfit: it cannot.
    """
    if _SPELLING.fullmatch(name) is None:
        raise Unfit("the name of a provider has letters, digits, '_', '-' and '.' only, at most 64")


def check_name(name: str, *, has_address: bool) -> None:
    """Look whether this version can run it.

    Args:
        name: of the provider.
        has_address: whether one was told or is there.

    Raises:
        Unfit: it cannot, or there is none of that name; the text begins with it.
    """
    if name not in KNOWN_NAMES and not has_address:
        runs = [known for known in KNOWN_NAMES if facts(known).runs]
        near = nearest_name(name, runs)
        hint = "" if near is None else f'; did you mean "{near}"?'
        raise Unfit(f"{name} is not a known provider, and another one needs an address (--base-url){hint}")
    if not facts(name).runs:
        raise Unfit(
            f"{name} cannot run in this version: it speaks a protocol that is not there; a compatible server can "
            "be named by another name and its address (--base-url)"
        )


def check_provider(answer: ProviderAnswer, present: Present) -> None:
    """Look whether a provider would be complete, but for its key, which may come from the environment.

    Raises:
        Unfit: something is missing, or means nothing to it; the text begins with its name.
    """
    name = answer.name
    has_address = answer.base_url is not None or present.has((*PROVIDERS, name, "base_url"))
    check_name(name, has_address=has_address)
    known = facts(name)
    if name == LOCAL:
        told = (answer.api_key, answer.base_url, answer.default_model, answer.reasoning_effort)
        if any(each is not None for each in told):
            raise Unfit(
                "local is the built-in model: it takes no key, address, model name or reasoning effort"
            )
        return
    if not has_address and known.base_url is None and not known.responses:
        raise Unfit(f"{name} has no address that this version knows; it needs one (--base-url)")
    if (answer.default_model or model_of(name, present, has_address=has_address)) is None:
        raise Unfit(f"{name} needs a model (--default-model)")
    if answer.reasoning_effort is not None and name in EFFORTLESS:
        raise Unfit(f"{name} takes no reasoning effort")


def model_of(name: str, present: Present, *, has_address: bool) -> str | None:
    """The model that is asked where nobody names one; `None` where nothing would be known."""
    usual = None if has_address else facts(name).default_model
    return present.text((*PROVIDERS, name, "default_model")) or usual


def needs_key(name: str, *, has_address: bool) -> bool:
    """Whether it answers nobody without one."""
    return not facts(name).keyless and not has_address
