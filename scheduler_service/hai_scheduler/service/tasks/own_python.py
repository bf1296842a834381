"""Checks the user's own Python of a task (the variable HAI_VENV) before it starts."""

from __future__ import annotations

from hai_client.pythons import VENV, chosen
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.ports.files import Files
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.workspace.runtime_env import RuntimeEnvs


async def warnings_of(
    runtime_envs: RuntimeEnvs, files: Files | None, caller: Caller, submission: Submission, pin: Pin | None
) -> list[str]:
    """Warnings if the ranks will not see the Python of the task; else, or if that is unknown, empty.

    Args:
        runtime_envs: The mounts of users.
        files: What ranks see.
        caller: The user.
        submission: The task, which may bring the user's own venv or conda environment.
        pin: The generation of an environment of haienv that it runs with; None: none.
    """
    haienvs = runtime_envs.pinning.haienvs
    given = haienvs.prefix(pin) if pin is not None and haienvs is not None else submission.env.get(VENV)
    if not given or files is None:
        return []
    folder = given if pin is not None else chosen(submission.env)
    if folder is None:
        return [f"env.{VENV}: {given!r} is not the absolute path of a folder, so it is not used"]
    try:
        view = await runtime_envs.container_view(caller.name, caller.groups or None, submission.group)
    except Invalid:
        # A mount rule cannot be resolved for this user: the start of the task will report that.
        return []
    mounts = tuple(placed.mount for placed in view.resolution.placed)
    why = await files.unseen(folder, mounts)
    field = f"env.{VENV}" if pin is None else "environment"
    return [] if why is None else [f"{field}: {why}"]
