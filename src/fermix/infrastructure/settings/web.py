"""`[fermix_web]`: the HTTP server for webhooks and health."""

import ipaddress
from typing import Annotated

from pydantic import AfterValidator, Field

from fermix.infrastructure.settings.section import Section, Text, refused


def _listening_address(value: str) -> str:
    if value == "localhost":
        return value
    try:
        ipaddress.ip_address(value)
    except ValueError:
        raise refused("must be an address of this machine such as 127.0.0.1, 0.0.0.0 or ::1") from None
    return value


class WebSettings(Section):
    """Where the daemon listens."""

    port: Annotated[int, Field(ge=0, le=65535)] = 4030
    """Port; 0 picks a free one."""
    bind: Annotated[Text, AfterValidator(_listening_address)] = "127.0.0.1"
    """Address to listen on; beyond loopback everything but webhooks and liveness needs a token."""
