"""The Files port where ranks are pods: their mounts are known, the files in their images are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from hai_scheduler.core.workspace.mounts import Mount
from hai_scheduler.ports.files import PathFault


class PodFiles:
    """The Files port where ranks are pods."""

    async def fault(
        self,
        command: Sequence[str],
        cwd: str,
        checkpoint_dir: str | None,
        python: str | None = None,
        own_python: str | None = None,
    ) -> PathFault | None:
        """Return None: the image may have any file."""
        del command, cwd, checkpoint_dir, python, own_python
        return None

    async def unseen(self, folder: str, mounts: Sequence[Mount]) -> str | None:
        """Return a warning if a folder is below none of the mounts, else None; the image may still have the folder."""
        place = PurePosixPath(folder)
        if any(place.is_relative_to(mount.mount_path) for mount in mounts):
            return None
        seen = ", ".join(sorted(mount.mount_path for mount in mounts))
        mounted = f"only {seen} of the cluster's files" if seen else "no files of the cluster"
        return (
            f"your tasks see {mounted}, so {folder} must be in their image; else the image's own Python is used. An "
            "admin can mount it (hai admin mounts), or set up an environment (hai environments)"
        )
