"""Messages between the service and its worker process: two lengths, a head of JSON and a body of bytes."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Mapping
from typing import Any, Final

_LENGTHS: Final = struct.Struct(">II")


def pack(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    """One message as bytes."""
    text = json.dumps(head).encode("ascii")
    return _LENGTHS.pack(len(text), len(body)) + text + body


def unpack(data: bytes) -> tuple[dict[str, Any], bytes] | None:
    """A message that is all of the bytes; None if they are something else, such as a part of one."""
    if len(data) < _LENGTHS.size:
        return None
    head, body = _LENGTHS.unpack_from(data)
    begins = _LENGTHS.size + head
    if len(data) != begins + body:
        return None
    return json.loads(data[_LENGTHS.size : begins]), data[begins:]


async def read_frame(reader: asyncio.StreamReader) -> tuple[dict[str, Any], bytes] | None:
    """The next message; None if the other side is gone."""
    try:
        head, body = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
        return json.loads(await reader.readexactly(head)), await reader.readexactly(body)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
