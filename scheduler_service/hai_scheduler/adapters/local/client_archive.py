"""`hai_client` as one file, for tasks with a Python of their own: what a pod gets as well."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

from hai_client.archive import build

log = logging.getLogger(__name__)


class ClientArchive:
    """Made when it is first needed, in a folder that tasks may read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: Path | None = None

    def path(self) -> Path | None:
        """The file; None where it cannot be made, which is logged: tasks do without it then.

        Its name is made of its contents: a newer platform leaves alone what running tasks still read from.
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
