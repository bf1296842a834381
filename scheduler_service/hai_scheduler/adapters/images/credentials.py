"""Names and passwords for registries: the file of a pull secret, `.dockerconfigjson`, as kubelets read it.

The service has no right to read Secrets. An admin who wants private images to be pinned mounts the pull secret.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

#: The longest file that is read, bytes.
_LONGEST: Final = 1024 * 1024


def basic_for(file: Path | None, keys: Sequence[str]) -> str | None:
    """Return the value of the header Authorization for a registry; None: the file has none, or cannot be read.

    Args:
        file: The file; None: there is none.
        keys: What the registry may be called in it.
    """
    if file is None:
        return None
    try:
        with file.open("rb") as opened:
            data = opened.read(_LONGEST + 1)
        found: Any = json.loads(data) if len(data) <= _LONGEST else {}
        auths = found["auths"]
        entry = next((auths[key] for key in keys if key in auths), None)
        if entry is None:
            return None
        if entry.get("auth"):
            base64.b64decode(entry["auth"], validate=True)
            return f"Basic {entry['auth']}"
        pair = f"{entry['username']}:{entry['password']}".encode()
        return f"Basic {base64.b64encode(pair).decode('ascii')}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, binascii.Error):
        # The message of such an error may hold a part of the file.
        return None
