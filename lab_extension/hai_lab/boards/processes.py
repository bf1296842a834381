"""The processes that serve folders: started when somebody looks, ended with this server or by newer ones."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hai_lab.problem import Problem, unavailable

#: Folders that are served at once; each costs some hundred MB.
MOST: Final = 4
#: Longest time until a board answers, seconds: TensorBoard reads its plugins first.
LONGEST_START_S: Final = 90.0
#: Seconds between two looks whether it answers, and how much of its complaints is kept, bytes.
LOOK_S: Final = 0.2
_KEPT: Final = 4096
_PROGRAM: Final = Path(__file__).with_name("serve.py")


@dataclass
class Board:
    """One folder that is served."""

    folder: Path  #: The folder.
    socket: Path  #: The Unix socket that answers.
    process: asyncio.subprocess.Process  #: What serves it.
    used_at: float = field(default_factory=time.monotonic)  #: When it was last asked, by the steady clock.

    @property
    def alive(self) -> bool:
        """Whether it still serves."""
        return self.process.returncode is None


class Boards:
    """All boards of this server, by a name that follows from the folder."""

    def __init__(self) -> None:
        self._place: Path | None = None
        self._boards: dict[str, Board] = {}
        self._opening: dict[str, asyncio.Task[Board]] = {}

    def get(self, key: str) -> Board | None:
        """Return the board of this name if it serves; that counts as a look at it."""
        board = self._boards.get(key)
        if board is None or not board.alive:
            return None
        board.used_at = time.monotonic()
        return board

    async def open(self, folder: Path) -> str:
        """Serve a folder, unless it is served already, and return its name.

        Raises:
            Problem: TensorBoard does not start.
        """
        key = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
        if self.get(key) is not None:
            return key
        if key not in self._opening:
            self._opening[key] = asyncio.ensure_future(self._start(key, folder))
            self._opening[key].add_done_callback(lambda _: self._opening.pop(key, None))
        # A browser that has asked first may leave; the others still want it.
        await asyncio.shield(self._opening[key])
        return key

    def close(self) -> None:
        """End all boards, and remove their sockets."""
        for board in self._boards.values():
            with suppress(ProcessLookupError, RuntimeError):
                board.process.kill()
        self._boards.clear()
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)
            self._place = None

    async def _start(self, key: str, folder: Path) -> Board:
        await self._make_room()
        if self._place is None:
            # The folder is its user's alone: a socket in it is, too.
            self._place = Path(tempfile.mkdtemp(prefix="hai-board-"))
        socket = self._place / key
        socket.unlink(missing_ok=True)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", str(_PROGRAM), str(folder), str(socket),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise unavailable(f"TensorBoard cannot be started: {error.strerror or error}.") from None
        board, complaints = Board(folder, socket, process), bytearray()
        self._boards[key] = board
        # Kept as long as it runs: a full pipe would stop it.
        board_reader = asyncio.ensure_future(_read(process, complaints))
        board_reader.add_done_callback(lambda _: None)
        until = time.monotonic() + LONGEST_START_S
        while not await _answers(socket):
            if process.returncode is not None:
                await asyncio.wait({board_reader}, timeout=1)
                last = complaints.decode(errors="replace").strip().splitlines()[-1:] or ["it says nothing"]
                raise Problem(503, "unavailable", "TensorBoard has ended", f"TensorBoard does not start: {last[0]}")
            if time.monotonic() > until:
                process.kill()
                raise unavailable(f"TensorBoard has not answered within {LONGEST_START_S:.0f} s. Try again later.")
            await asyncio.sleep(LOOK_S)
        return board

    async def _make_room(self) -> None:
        self._boards = {key: board for key, board in self._boards.items() if board.alive}
        while len(self._boards) >= MOST:
            oldest = min(self._boards, key=lambda key: self._boards[key].used_at)
            board = self._boards.pop(oldest)
            with suppress(ProcessLookupError):
                board.process.kill()
            await board.process.wait()


async def _read(process: asyncio.subprocess.Process, into: bytearray) -> None:
    assert process.stderr is not None
    while piece := await process.stderr.read(_KEPT):
        into += piece
        del into[:-_KEPT]


async def _answers(socket: Path) -> bool:
    try:
        reader, writer = await asyncio.open_unix_connection(str(socket))
    except OSError:
        return False
    try:
        # The socket is there before the pages are.
        writer.write(b"HEAD / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        return (await reader.read(5)) == b"HTTP/"
    except OSError:
        return False
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
