"""Hears whether a run reads what the run before had saved: code that saves and never resumes begins again each time.

A file counts as read if it was opened and not written then. What is mapped into memory is opened and nothing else, so
an open alone counts until a write follows.
"""
# ruff: noqa: PTH110, PTH118, PTH119, PTH120
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os

from hai_client.linux.identity import acting_as
from hai_client.linux.inotify import ACCESS, CLOSE_NOWRITE, CLOSE_WRITE, MODIFY, OPEN, OVERFLOW, Inotify
from hai_client.rank.evidence.judging import is_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hai_client.linux.identity import Account
    from hai_client.rank.starting.spec import Spec

#: How long the start of a command waits for the folder of the checkpoint to be looked up, seconds.
LOOK_UP_S = 0.2
#: Files that the in-job API leaves where a job asks for what was kept for it.
MARKS = ("restored.json", "state-read")


class Reading:
    """Hears what is read in the folder of a checkpoint, and above one that is numbered, as `step-20`.

    Args:
        spec: The rank's spec, with the checkpoint.
        account: The Unix account of the task; None: the account of this process.
    """

    def __init__(self, spec: Spec, account: Account | None) -> None:
        self.path = str(spec.checkpoint)
        self._runtime = spec.runtime
        self._account = account
        self._inotify: Inotify | None = None
        #: Files that were opened, and nothing else since.
        self._opened: set[str] = set()
        self._read = False

    def start(self) -> None:
        """Begin to listen, before the command is started. A file server that hangs holds nothing up."""
        import threading

        thread = threading.Thread(target=self._listen, name="reading", daemon=True)
        thread.start()
        thread.join(LOOK_UP_S)
        # What was read before it listens is not heard: then nothing is said.
        self._read = self._inotify is None

    def has_read(self) -> bool:
        """Return whether the job has read something there, or asked for what was kept for it; True if unknown."""
        if not self._read and self._inotify is not None:
            for event in self._inotify.read():
                self._hear(event.path, event.kind, folder=event.is_folder)
        with acting_as(self._account):
            marked = any(os.path.exists(os.path.join(self._runtime, mark)) for mark in MARKS)
        return self._read or marked or bool(self._opened)

    def close(self) -> None:
        """Stop listening."""
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def _listen(self) -> None:
        folder = os.path.dirname(self.path)
        numbered = any(letter.isdigit() for letter in os.path.basename(folder))
        try:
            inotify = Inotify()
        except (OSError, AttributeError):
            return
        with acting_as(self._account):
            heard = [
                inotify.add(place, mask=OPEN | ACCESS | MODIFY | CLOSE_WRITE | CLOSE_NOWRITE)
                for place in (folder, *([os.path.dirname(folder)] if numbered else []))
            ]
        if heard[0]:
            self._inotify = inotify
        else:
            inotify.close()

    def _hear(self, path: str, kind: int, *, folder: bool) -> None:
        if kind & OVERFLOW:
            self._read = True
        elif folder or (path != self.path and is_record(os.path.basename(path))):
            return
        elif kind & (MODIFY | CLOSE_WRITE):
            self._opened.discard(path)
        elif kind & (ACCESS | CLOSE_NOWRITE):
            self._read = True
        elif kind & OPEN:
            self._opened.add(path)
