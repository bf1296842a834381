"""The files that ranks will see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hai_scheduler.core.workspace.mounts import Mount


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with a path of a submission: the field, its value, what to do."""

    field: str
    value: str
    message: str


class Files(Protocol):
    """What can be known, where the service runs, of the files that ranks will see."""

    async def fault(
        self,
        command: Sequence[str],
        cwd: str,
        checkpoint_dir: str | None,
        python: str | None = None,
        user: str = "",
        own_python: str | None = None,
    ) -> Fault | None:
        """The first path that no rank could use; None when all is well or nothing can be known.

        `python` is that of the task's environment, if that has one; `user` whose ranks they are; `own_python` the
        folder of the user's own venv or conda environment, if the task brings one.
        """
        ...

    async def unseen(self, folder: str, mounts: Sequence[Mount]) -> str | None:
        """Why a folder with a Python will not be seen by ranks, and what follows; None: it may well be.

        `mounts` is what they see where they have file systems of their own.
        """
        ...
