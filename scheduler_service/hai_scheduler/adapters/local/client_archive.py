"""`hai_client` as one file, for tasks with their own Python: the same file that pods get."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

from hai_client.archive import build

log = logging.getLogger(__name__)


class ClientArchive:
    """The archive of `hai_client`, made when it is first needed, in a folder that tasks may read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: Path | None = None

    def path(self) -> Path | None:
        """Return the file; None if it cannot be made, which is logged: tasks then run without it.

        Its name holds a digest of its contents, so a newer platform does not replace a file that running tasks read.
        """
        if self._made is None:
            try:
                self._made = self._make()
            except OSError as error:
                log.warning("hai_client cannot be given to tasks with a Python of their own: %s", error)
        return self._made

    def _make(self) -> Path:
        self._folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        draft = self._folder / ".draft.pyz"
        build(draft)
        made = self._folder / f"hai-{hashlib.sha256(draft.read_bytes()).hexdigest()[:12]}.pyz"
        draft.chmod(0o644)
        draft.replace(made)
        return made
