"""Proofs that a call of the webhook is Meta's: pure, over raw bytes, and in constant time.

Source: https://developers.facebook.com/docs/graph-api/webhooks/getting-started.
"""

import hashlib
import hmac
from collections.abc import Mapping

_PREFIX = "sha256="


def is_signed(body: bytes, signature: str, *, secret: str) -> bool:
    """Whether the value of `X-Hub-Signature-256` is the one that belongs to these very bytes."""
    expected = _PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.strip().encode("utf-8", "replace"))


def answer_to_challenge(query: Mapping[str, str], *, verify_token: str) -> str | None:
    """What is echoed to whoever sets the webhook up and knows our word; `None` for everybody else."""
    said = query.get("hub.verify_token", "")
    known = hmac.compare_digest(verify_token.encode(), said.encode("utf-8", "replace"))
    if not known or not verify_token or query.get("hub.mode") != "subscribe":
        return None
    return query.get("hub.challenge")
