"""Tell running tasks to save before the platform stops, and wait for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from hai_client.errors import HaiError
from hai_client.http import Transport
from hai_hub.shared.console import Interrupts, say
from hai_hub.shared.state import StateDir

#: Most seconds that a run gets to save, even if its task asked for more.
GRACE_S: Final = 25.0
#: Most seconds to wait for all runs.
LONGEST_S: Final = 30.0
_BETWEEN_S: Final = 0.25
#: States in which a task has processes.
_HOLDING: Final = "starting,running,suspending,stopping"


def pause_and_wait(api: Transport, state: StateDir, interrupts: Interrupts, hub_runs: Callable[[], bool]) -> None:
    """Pause the cluster, and wait until all runs have left, a signal comes, or `LONGEST_S` is over.

    Args:
        api: The scheduler's REST interface, with the local user's token.
        state: State folder, which remembers that the next start has to end the pause.
        interrupts: Counts signals: a further one ends the wait.
        hub_runs: Returns whether waiting still makes sense.
    """
    try:
        if not api.call("GET", "/cluster")["paused"]:
            # Remembered first: a pause that is not remembered would hold all tasks until an admin ends it.
            state.remember(paused_by_up=True)
            api.call("POST", "/cluster/pause", body={"grace_s": GRACE_S})
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
    except (HaiError, KeyError, TypeError) as error:
        say(f"The running tasks could not be told: {error}")


def resume(api: Transport, state: StateDir) -> None:
    """End the pause that the last `hai up` made when it stopped. A pause by an administrator stays."""
    if not state.remembered.paused_by_up:
        return
    try:
        api.call("POST", "/cluster/resume")
    except HaiError as error:
        say(f"The tasks are still paused ({error}); `hai admin resume` lets them go on")
        return
    state.remember(paused_by_up=False)


def _holding(api: Transport) -> list[dict[str, Any]]:
    """Return all users' tasks that have processes."""
    page = api.call("GET", "/tasks", query={"state": _HOLDING, "user": "*", "limit": 200})
    return list(page["items"])


def _counted(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    if len(names) == 1:
        return f"task {shown}"
    return f"{len(names)} tasks: {shown}" + (", ..." if len(names) > 5 else "")
