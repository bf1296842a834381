"""A process of PyTorch as its supervisor sees it: a socket that asks as kineto does."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path
from types import TracebackType
from typing import Self

HEAD = struct.Struct("<Q32s")


def ask_message(*pids: int, kind: int = 3) -> bytes:
    """The question of a process for a configuration."""
    body = struct.pack("<iiq", kind, len(pids), 0) + b"".join(struct.pack("<i", pid) for pid in pids)
    return HEAD.pack(len(body), b"req") + body


def register_message(pid: int = 7) -> bytes:
    """The greeting of a process with a GPU."""
    return HEAD.pack(16, b"ctxt") + struct.pack("<iiq", 0, pid, 0)


class KinetoClient:
    """The socket of one process."""

    def __init__(self, folder: str, name: str = "dynoconfigclient-1") -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(Path(folder) / name))
        self.socket.setblocking(False)
        self._door = str(Path(folder) / "dynolog")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def say(self, data: bytes | None = None) -> None:
        """Send a message."""
        self.socket.sendto(ask_message(os.getpid()) if data is None else data, self._door)

    def heard(self) -> str | None:
        """The text of the next answer; None if there is none."""
        try:
            data = self.socket.recv(65536)
        except BlockingIOError:
            return None
        size, _ = HEAD.unpack_from(data)
        assert size == len(data) - HEAD.size
        return data[HEAD.size :].decode("latin-1")
