"""Lets a scheduler service end as by `kill -9` at chosen moments of a launch; its configuration file calls this."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any, Final

from hai_scheduler.adapters.kubernetes.launching import PodLauncher

#: The moments, named after the objects that the API server has just accepted.
MOMENTS: Final = ("services", "secrets", "pods", "record")


def set_traps(folder: Path) -> None:
    """Let the service end after the first moment for which the folder has a file of that name."""
    service, create, annotate = PodLauncher._service, PodLauncher._create, PodLauncher.annotate

    def spring(moment: str) -> None:
        try:
            (folder / moment).unlink()
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    async def after_service(self: PodLauncher, *args: Any) -> Any:
        made = await service(self, *args)
        spring("services")
        return made

    async def after_create(self: PodLauncher, kind: str, *args: Any) -> None:
        await create(self, kind, *args)
        spring(kind)

    async def after_record(self: PodLauncher, *args: Any) -> bool:
        done = await annotate(self, *args)
        spring("record")
        return done

    PodLauncher._service, PodLauncher._create, PodLauncher.annotate = after_service, after_create, after_record  # type: ignore[method-assign]
