"""Proof that a call of the webhook is Slack's: pure, over raw bytes, and in constant time.

Source: https://docs.slack.dev/authentication/verifying-requests-from-slack.
"""

import hashlib
import hmac
from datetime import datetime

MAX_AGE_SECONDS = 300
"""A call that was signed longer ago, or so far in the future, is somebody's copy of one."""

_VERSION = "v0"


def is_signed(body: bytes, *, timestamp: str, signature: str, secret: str) -> bool:
    """Whether the value of `X-Slack-Signature` is the one that belongs to these very bytes and this timestamp."""
    if not secret:
        return False
    base = f"{_VERSION}:{timestamp}:".encode("utf-8", "surrogateescape") + body
    expected = f"{_VERSION}={hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()}"
    return hmac.compare_digest(expected.encode(), signature.strip().encode("utf-8", "surrogateescape"))


def is_fresh(timestamp: str, *, now: datetime) -> bool:
    """Whether the value of `X-Slack-Request-Timestamp` lies within the allowed age."""
    if not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > 12:
        return False
    return abs(now.timestamp() - int(timestamp)) <= MAX_AGE_SECONDS
