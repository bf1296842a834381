"""Which folder a task writes to for TensorBoard, and whether there is something in it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hai_lab.platform import PlatformClient
from hai_lab.problem import Problem, not_found, unavailable


async def folder_of(platform: PlatformClient, task: int) -> Path:
    """Return the folder of a task of the user.

    Raises:
        Problem: The platform refuses to show the task, or cannot be reached.
    """
    response = await platform.send(platform.request("GET", f"tasks/{task}", "", {}, b""))
    try:
        text = await response.aread()
    finally:
        await response.aclose()
    try:
        found = json.loads(text)
    except ValueError:
        raise unavailable("The answer of HAI cannot be read; try again in a moment.") from None
    if response.status_code != 200:
        raise Problem(
            response.status_code,
            str(found.get("code", "unavailable")),
            str(found.get("title", "Not possible")),
            str(found.get("detail", f"HAI does not show task {task}.")),
        )
    return _of(found)


def _of(task: Mapping[str, Any]) -> Path:
    """Return what the task sees as TENSORBOARD_LOGGING_DIR: its own, or the platform's (docs/metrics.md)."""
    own = task["env"].get("TENSORBOARD_LOGGING_DIR") or task["env"].get("HAI_TENSORBOARD_DIR")
    usual = f"{str(task['checkpoint_dir']).rstrip('/')}-logs/tensorboard"
    return Path(task["cwd"]) / (own or usual)


def has_content(folder: Path) -> bool:
    """Return whether there is anything in the folder that this user may read."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def nothing_in(folder: Path) -> Problem:
    """Return the problem for a folder without content."""
    return not_found(
        f"There is nothing in {folder} that this server can read. A task writes there what TensorBoard shows: "
        "SummaryWriter(os.environ['HAI_TENSORBOARD_DIR'])."
    )
