"""Sends traces to the service, compressed, a piece at a time."""
# ruff: noqa: PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os
import time
import zlib

from hai_client.linux.identity import acting_as
from hai_client.rank.shared.api import Answer, RankApi, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hai_client.linux.identity import Account

#: Bytes that are read of a file at once, and compressed bytes of a piece.
READ_BYTES = 1 << 20
PIECE_BYTES = 512 * 1024
#: How hard zlib tries: traces shrink to a tenth at once, and the processor belongs to the job.
LEVEL = 1
FIRST_PAUSE_S = 0.2
MAX_PAUSE_S = 5.0
#: How long one request may take, and how long pieces are tried while the service is away, seconds.
REQUEST_S = 30.0
PATIENCE_S = 60.0
#: What a trace has in which an operator of PyTorch ran.
OPERATOR = b'"cpu_op"'


class CannotSend(Exception):
    """A trace cannot be sent; the message says why, for the user."""


class TraceSender:
    """Sends the traces of one rank and one recording.

    Args:
        api: The service.
        recording: The number of the recording.
        most_bytes: The most compressed bytes of all its traces together.
        account: The account that owns the files.
    """

    def __init__(self, api: RankApi, recording: int, most_bytes: int, account: Account | None = None) -> None:
        self._api = api
        self._recording = recording
        self._left = most_bytes
        self._account = account

    def send(self, path: str, number: int) -> bool:
        """Send a file as trace `number`; return whether an operator was in it. Raises CannotSend."""
        machine = zlib.compressobj(LEVEL, zlib.DEFLATED, 31)
        offset, piece, computed, tail = 0, b"", False, b""
        try:
            with acting_as(self._account):
                # Not through a link, and without waiting: the folder is the job's.
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise CannotSend(f"its trace cannot be read: {error.strerror}") from None
        with open(fd, "rb", buffering=0) as file:
            while True:
                try:
                    data = file.read(READ_BYTES)
                except OSError as error:
                    raise CannotSend(f"its trace cannot be read: {error.strerror}") from None
                computed = computed or OPERATOR in tail + (data or b"")
                tail = (data or b"")[-len(OPERATOR) :]
                piece += machine.compress(data) if data else machine.flush()
                while len(piece) >= PIECE_BYTES or (piece and not data):
                    offset = self._send(number, offset, piece[:PIECE_BYTES])
                    piece = piece[PIECE_BYTES:]
                if not data:
                    return computed

    def finish(self, body: dict[str, Any]) -> bool:
        """Report the end of the recording; return whether the service has taken it."""
        answer = self._repeat(lambda: self._api.finish_recording(self._recording, body, REQUEST_S))
        return answer is not None and answer.status == 204

    def _send(self, number: int, offset: int, piece: bytes) -> int:
        self._left -= len(piece)
        if self._left < 0:
            raise CannotSend("its traces are too large to be kept: record fewer seconds or steps, or fewer ranks")
        end = offset + len(piece)
        answer = self._repeat(lambda: self._api.send_trace(self._recording, number, offset, piece, REQUEST_S))
        if answer is None:
            raise CannotSend("the service could not be reached to send its traces")
        # 409: the answer to an earlier try was lost.
        if answer.status == 200 or (answer.status == 409 and answer.offset == end):
            return end
        raise CannotSend(f"the service has refused its traces (HTTP status {answer.status})")

    def _repeat(self, call: Any) -> Answer | None:
        """Make a call until it is answered; None if the service stays away."""
        ends, pause = time.monotonic() + PATIENCE_S, FIRST_PAUSE_S
        while True:
            with contextlib.suppress(Unreachable):
                answer: Answer = call()
                if answer.status < 500 and answer.status not in (408, 429):
                    return answer
            if time.monotonic() + pause > ends:
                return None
            time.sleep(pause)
            pause = min(MAX_PAUSE_S, pause * 2)
