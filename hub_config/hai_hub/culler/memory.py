"""What the culler remembers over a restart: renewals and warnings, in a small file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from hai_hub.culler.judging import Memory
from hai_hub.shared.errors import UpError
from hai_hub.shared.state import write_private

_FORMAT: Final = 1
Key = tuple[str, str]


def load(path: Path) -> dict[Key, Memory]:
    """Read what `save` wrote; a file that is missing or damaged is an empty one.

    Nothing is lost with it but renewals: every server is warned before it ends, whatever is remembered of it.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        if plain["format"] != _FORMAT:
            return {}
        return {(entry["user"], entry["server"]): _memory(entry) for entry in plain["servers"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def save(path: Path, memories: Mapping[Key, Memory]) -> None:
    """Write the file whole, or not at all.

    Raises:
        OSError: It cannot be written.
    """
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


def _memory(entry: Mapping[str, Any]) -> Memory:
    started = _time(entry["started"])
    if started is None:
        raise ValueError(entry)
    return Memory(started=started, renewed_at=_time(entry["renewed_at"]), warned_since=_time(entry["warned_since"]))


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
