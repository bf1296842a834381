"""The keys that seal users' secrets: from the environment, or a file in the state folder."""

from __future__ import annotations

import secrets
from pathlib import Path

from hai_client.whole_files import write_once
from hai_scheduler.adapters.system.key_ring import KeyRing

#: The file in the state folder. It is no part of a backup of the database, and who has both has the secrets.
FILE = "secrets_keys"


def kept_keys(path: Path) -> KeyRing:
    """Read the keys in a file, which the first start makes with mode 0600. Raises ValueError, OSError."""
    # If replicas start together, one of them makes the file, and no other reads it half-written.
    write_once(path, secrets.token_hex(32) + "\n", on_disk=True)
    return KeyRing.read(path.read_text(encoding="ascii"))
