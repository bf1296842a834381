"""Messages between the service and its worker process: two lengths, then a JSON head and a body of bytes."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Mapping
from typing import Any, Final

_LENGTHS: Final = struct.Struct(">II")


def pack(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    """The bytes of a message."""
    text = json.dumps(head).encode("ascii")
    return _LENGTHS.pack(len(text), len(body)) + text + body


async def read_frame(reader: asyncio.StreamReader) -> tuple[dict[str, Any], bytes] | None:
    """The head and the body of the next message; None if the other side has closed the pipe."""
    try:
        head, body = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
        return json.loads(await reader.readexactly(head)), await reader.readexactly(body)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
