"""The functions of `hfai.client`. Their `timeout` and `raise_exception` are the original's; few functions use them."""

from __future__ import annotations

import os
from typing import Any

from hai_client import job
from hfai import _platform
from hfai.client._words import EXP_PRIORITY, NEAREST

#: What `nb_name` returns outside of a task.
NO_CLUSTER = "NO_CLUSTER"


def receive_suspend_command(timeout: int = 500, raise_exception: bool = False) -> bool:
    """Return whether the task must save and leave; True on the node of rank 0 only, as in the original.

    The call is cheap enough for every step. In a rehearsal (`HFAI_SIMULATE=1 SIMULATE_SUSPEND=30`) it returns True
    after that many seconds.
    """
    return _platform.told_master()


def go_suspend(timeout: int = 500, raise_exception: bool = False) -> None:
    """Report for all ranks that the task has saved, and wait until the platform ends it.

    Outside of a task it returns; in a rehearsal it leaves the process with status 0.
    """
    if _platform.simulated():
        _platform.end_rehearsal()
    if not job.inside:
        _platform.outside("go_suspend")
        return
    _platform.leave()


def set_whole_life_state(state: int, timeout: int = 500, raise_exception: bool = True) -> bool:
    """Keep a number over all runs of the task; return whether it differs from the number kept before."""
    if not job.inside:
        if not _platform.simulated():
            _platform.outside("set_whole_life_state")
            return False
        return True
    if str(int(state)) == job.state:
        return False
    job.set_state(str(int(state)))
    return True


def get_whole_life_state() -> int | None:
    """Return the number that was kept last, 0 if there is none; None outside of a task."""
    if not job.inside and not _platform.simulated():
        _platform.outside("get_whole_life_state")
    return _platform.state()


def set_watchdog_time(seconds: int) -> dict[str, Any] | None:
    """Print, once, that this has no effect. The original ended a task that printed nothing for that time."""
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        raise TypeError(f"seconds is {seconds!r}; it must be a whole number")
    if not job.inside:
        _platform.outside("set_watchdog_time")
        return None
    text = f"set_watchdog_time({seconds}) has no effect: HAI ends no task because it is silent"
    _platform.say_once("watchdog", text + "; to bound its time, submit it with --time-limit")
    return {"success": 0, "msg": text}


def set_priority(priority: int, timeout: int = 500, raise_exception: bool = False) -> bool:
    """Change the task's priority with its owner's login (`hai login`); return whether that worked.

    Args:
        priority: A number of `EXP_PRIORITY`.
        timeout: Unused.
        raise_exception: Whether to raise the error instead of returning False.

    Raises:
        hai_client.errors.HaiError: With `raise_exception`: there is no login here, or the platform refuses.
    """
    name = EXP_PRIORITY.get_name_by_value(priority)
    if getattr(EXP_PRIORITY, name) != priority:
        raise ValueError(f"priority is {priority!r}; it must be a number of EXP_PRIORITY, for example 30 for HIGH")
    level = NEAREST.get(name, name)
    if not job.inside:
        if not _platform.simulated():
            _platform.outside("set_priority")
            return False
        return True
    # Imported here: no other function needs the client, and it needs a login, which most tasks lack.
    from hai_client import Client, HaiError

    try:
        Client().set_priority(job.task_id, level)
    except HaiError as error:
        if raise_exception:
            raise
        how = f"hai priority {job.task_id} {level}"
        _platform.say_once("priority", f"the priority is as it was: {error.message} (elsewhere: {how})")
        return False
    return True


def disable_warn(warn_type: int, timeout: int = 500, raise_exception: bool = False) -> bool:
    """Do nothing: the original could silence some warnings, which HAI never sends. Return whether this is a task."""
    if int(warn_type) < 0:
        raise ValueError(f"warn_type is {warn_type}; it must be made of the bits of WARN_TYPE")
    if not job.inside and not _platform.simulated():
        _platform.outside("disable_warn")
        return False
    return True


def nb_name() -> str:
    """Return the task's name; NO_CLUSTER outside of a task."""
    return job.name if job.inside else NO_CLUSTER


def task_id() -> str | int:
    """Return the task's id as a text, as in the original; -1 outside of a task."""
    return str(job.task_id) if job.inside else -1


def rank() -> int:
    """Return the number of this node among the task's nodes, from 0."""
    return job.rank


def node_name() -> str:
    """Return the name of this node; NAN_NODE outside of a task."""
    return job.node_list[job.rank] if job.inside else "NAN_NODE"


def user_name() -> str:
    """Return the task's owner; an empty text outside of a task."""
    return os.environ.get("HAI_USER", "") if job.inside else ""
