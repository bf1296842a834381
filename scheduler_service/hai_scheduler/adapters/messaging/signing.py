"""Signatures of webhooks, as Standard Webhooks has them."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

#: How a key begins.
PREFIX: Final = "whsec_"


def signature(key: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of the header `webhook-signature`.

    Args:
        key: The key, with its prefix.
        message_id: The header `webhook-id`.
        timestamp: The header `webhook-timestamp`, Unix time in seconds.
        body: The body as it is sent.
    """
    secret = base64.b64decode(key.removeprefix(PREFIX))
    content = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    return "v1," + base64.b64encode(hmac.new(secret, content, hashlib.sha256).digest()).decode()
