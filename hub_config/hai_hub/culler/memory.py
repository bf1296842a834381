"""Keep renewals and warnings of the culler in a small file, so that they survive its restart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from hai_hub.culler.decision import CullRecord
from hai_hub.shared.errors import UpError
from hai_hub.shared.state import write_private

_FORMAT: Final = 1
Key = tuple[str, str]


def load(path: Path) -> dict[Key, CullRecord]:
    """Return what `save` wrote; a missing or damaged file counts as empty.

    Without the file only renewals are lost: every owner is still warned before a server ends.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        if plain["format"] != _FORMAT:
            return {}
        return {(entry["user"], entry["server"]): _memory(entry) for entry in plain["servers"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def save(path: Path, memories: Mapping[Key, CullRecord]) -> None:
    """Write the file atomically. Raises OSError: the file cannot be written."""
    servers = [
        {
            "user": user,
            "server": server,
            "started": _text(memory.started),
            "renewed_at": _text(memory.renewed_at),
            "warned_since": _text(memory.warned_since),
        }
        for (user, server), memory in sorted(memories.items())
    ]
    try:
        write_private(path, json.dumps({"format": _FORMAT, "servers": servers}, indent=2) + "\n")
    except UpError as error:
        raise OSError(str(error)) from error


def _memory(entry: Mapping[str, Any]) -> CullRecord:
    started = _time(entry["started"])
    if started is None:
        raise ValueError(entry)
    return CullRecord(started=started, renewed_at=_time(entry["renewed_at"]), warned_since=_time(entry["warned_since"]))


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
