"""The port to the files that ranks will see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hai_scheduler.core.workspace.mounts import Mount


@dataclass(frozen=True, slots=True, kw_only=True)
class PathFault:
    """A fault of a path in a submission: the field, its value, and what to do."""

    field: str
    value: str
    message: str


class Files(Protocol):
    """Checks, from the machine of the service, the files that ranks will see."""

    async def fault(
        self,
        command: Sequence[str],
        cwd: str,
        checkpoint_dir: str | None,
        python: str | None = None,
        own_python: str | None = None,
    ) -> PathFault | None:
        """The first path of a submission that no rank could use; None if there is none, or the service cannot know.

        Args:
            command: The command of the task.
            cwd: Its working directory.
            checkpoint_dir: The folder of its checkpoints, if the task names one.
            python: The Python of the task's environment, if that has one.
            own_python: The folder of the user's own venv or conda environment, if the task brings one.
        """
        ...

    async def unseen(self, folder: str, mounts: Sequence[Mount]) -> str | None:
        """The reason why ranks will not see a folder with a Python, and what to do; None: they probably see it.

        Args:
            folder: The folder of the venv or conda environment.
            mounts: The folders that ranks see where they have file systems of their own.
        """
        ...
