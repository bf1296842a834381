"""Before the platform stops: tell what runs, and wait a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from hai_hub.shared.api import Api, ApiError
from hai_hub.shared.console import Interrupts, say
from hai_hub.shared.state import StateDir

#: Seconds that a run gets to save at most, whatever it asked for.
GRACE_S: Final = 25.0
#: Seconds to wait for all of them.
LONGEST_S: Final = 30.0
_BETWEEN_S: Final = 0.25
#: States in which a task has processes.
_HOLDING: Final = "starting,running,suspending,stopping"


def pause_and_wait(api: Api, state: StateDir, interrupts: Interrupts, hub_runs: Callable[[], bool]) -> None:
    """Tell every run to leave, and wait until they have, a signal comes, or the time is over.

    Args:
        api: The service, with the local user's token.
        state: Where it is noted that the next start has to end the pause.
        interrupts: A further signal ends the wait.
        hub_runs: Tells whether waiting still makes sense.
    """
    try:
        if not api.get("/cluster")["paused"]:
            # Noted first: a pause that nobody remembers would hold all tasks for ever.
            state.remember(paused_by_up=True)
            api.post("/cluster/pause", {"grace_s": GRACE_S})
        before = interrupts.count
        deadline = time.monotonic() + LONGEST_S
        said: list[str] = []
        while (left := _holding(api)) and hub_runs():
            names = [f"{task['name']} ({task['user']})" for task in left]
            if names != said:
                say(f"Waiting for {_counted(names)} to save and leave; Ctrl-C again stops waiting")
                said = names
            if interrupts.count > before:
                say("Not waiting any longer: what still runs is ended, and resumes from its last checkpoint")
                return
            if time.monotonic() > deadline:
                say(f"Not gone after {LONGEST_S:.0f} s: what still runs is ended, and resumes from its last checkpoint")
                return
            interrupts.sleep(_BETWEEN_S)
        if said:
            say("All tasks have left; they resume at the next start, from what they have saved")
    except (ApiError, KeyError, TypeError) as error:
        say(f"The running tasks could not be told: {error}")


def resume(api: Api, state: StateDir) -> None:
    """End the pause with which the last `hai up` stopped. A pause that an administrator made stays."""
    if not state.remembered.paused_by_up:
        return
    try:
        api.post("/cluster/resume")
    except ApiError as error:
        say(f"The tasks are still paused ({error}); `hai admin resume` lets them go on")
        return
    state.remember(paused_by_up=False)


def _holding(api: Api) -> list[dict[str, Any]]:
    """All users' tasks that have processes."""
    page = api.get(f"/tasks?state={_HOLDING}&user=*&limit=200")
    return list(page["items"])


def _counted(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    if len(names) == 1:
        return f"task {shown}"
    return f"{len(names)} tasks: {shown}" + (", ..." if len(names) > 5 else "")
