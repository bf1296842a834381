"""The service's own secret, which signs run tokens and cookies and is the same in every replica."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from pathlib import Path
from typing import Final

from hai_client.whole_files import write_once
from hai_scheduler.ports.secret import Secret
from hai_scheduler.store.store import Store

log = logging.getLogger(__name__)

#: Name of the setting in the store with a fingerprint of the secret: it shows whether secrets differ.
SETTING: Final = "service_secret_fingerprint"


def kept_secret(path: Path) -> Secret:
    """The secret in the file, which the first start makes with mode 0600: run tokens stay valid after restarts."""
    # If replicas start together, one of them makes the file, and no other reads it half-written.
    write_once(path, secrets.token_hex(32), on_disk=True)
    return Secret(path.read_text(encoding="ascii").strip())


async def compare_secrets(store: Store, secret: Secret) -> bool:
    """Compare the secret with the last one that was used on this database, and log an error if they differ.

    Returns:
        True if it is the same secret, or the first one.
    """
    mine = hmac.new(secret.reveal().encode(), SETTING.encode(), hashlib.sha256).hexdigest()
    async with store.write() as tx:
        known = await tx.settings.get(SETTING)
        if known == mine:
            return True
        await tx.settings.put(SETTING, mine)
    if known is not None:
        log.error(
            "the service's secret is another than the one last used on this database: runs that were started with that"
            " one cannot report or be told to leave. All replicas must be given the same HAI_SERVICE_SECRET."
        )
    return known is None
