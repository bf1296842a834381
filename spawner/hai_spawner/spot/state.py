"""What a spot container's spawner knows, as values."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

#: States in which a task holds its node.
_LIVE: Final = frozenset({"starting", "running", "suspending", "stopping"})
_ENDED: Final = frozenset({"succeeded", "failed", "stopped"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What outlives a start of the server and a restart of the Hub: the task, and the run that serves, if one does.

    Attributes:
        task: The task's id.
        asked: What was asked for, as `user_options`.
        run: The run whose server the Hub counts on; None: none, the task waits or is not known to run.
        generation: The start of the server that the Hub counts on.
    """

    task: int
    asked: Mapping[str, Any]
    run: str | None = None
    generation: str | None = None

    @property
    def without_run(self) -> Kept:
        """The same task when no server of it is up."""
        return replace(self, run=None, generation=None)

    def to_state(self) -> dict[str, Any]:
        """As the Hub keeps it."""
        return {"task": self.task, "asked": dict(self.asked), "run": self.run, "generation": self.generation}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Kept:
        """What `to_state` wrote."""
        return cls(
            task=int(state["task"]), asked=state["asked"], run=state.get("run"), generation=state.get("generation")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A run that has knocked at the Hub, and where it listens.

    Attributes:
        run: Its id.
        address: Its first rank's, as the scheduler service says.
        port: The one it has chosen.
        generation: The start of the server that runs there already; None: none does.
    """

    run: str
    address: str
    port: int
    generation: str | None = None

    @property
    def url(self) -> str:
        """Where the Hub reaches the server."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"http://{host}:{self.port}"

    @property
    def bind_ip(self) -> str:
        """What the server must listen on to be reached: nobody but this machine where that is enough."""
        try:
            address = ipaddress.ip_address(self.address)
        except ValueError:
            return "0.0.0.0"  # noqa: S104  # the Hub comes from another machine
        if address.is_loopback:
            return self.address
        return "0.0.0.0" if address.version == 4 else "::"  # noqa: S104  # as above


def has_ended(task: Mapping[str, Any] | None) -> bool:
    """Whether a task, as the service shows it, is over for good or unknown."""
    return task is None or task["state"] in _ENDED


def serves(task: Mapping[str, Any], run: str) -> bool:
    """Whether that run of the task is the one that holds a node now."""
    runs = task["runs"]
    return task["state"] in _LIVE and bool(runs) and runs[-1]["id"] == run and runs[-1]["ended_at"] is None


def exit_status(task: Mapping[str, Any] | None) -> int:
    """What the Hub is told of a task that has ended."""
    return 1 if task is not None and task["state"] == "failed" else 0


def ending(task: Mapping[str, Any] | None) -> str:
    """Why a server cannot start any more, as a sentence."""
    if task is None:
        return "Its task is gone."
    return f"Task {task['id']} has ended: {str(task['message']).rstrip('.')}."


def waiting_line(explained: Mapping[str, Any]) -> str:
    """Why the task waits, with its place and the earliest start, from `GET /tasks/{id}/explain`."""
    parts = [f"Task {explained['task_id']}: {explained['sentence']}"]
    verdict = explained.get("verdict") or {}
    if verdict.get("position") is not None:
        parts.append(f"Place {verdict['position']} in the queue.")
    if verdict.get("earliest_start"):
        # Minutes are enough, and do not change at every look.
        parts.append(f"Earliest start {str(verdict['earliest_start'])[11:16]} UTC.")
    return " ".join(parts)
