"""The values of a spot container's spawner, and functions of a task's state."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

#: States in which a task holds its node.
_LIVE: Final = frozenset({"starting", "running", "suspending", "stopping"})
_ENDED: Final = frozenset({"succeeded", "failed", "stopped"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotRecord:
    """What the Hub stores of a spot container: its task, and the run whose server is up."""

    task: int  #: Id of the task.
    asked: Mapping[str, Any]  #: The options as `user_options`.
    run: str | None = None  #: Id of the run whose server is up; None: no server is up.
    #: Random name of the server's last start, which tells a current server from an older one.
    generation: str | None = None

    @property
    def without_run(self) -> SpotRecord:
        """The same task without a server that is up."""
        return replace(self, run=None, generation=None)

    def to_state(self) -> dict[str, Any]:
        """Return the values as JSON for the Hub's state."""
        return {"task": self.task, "asked": dict(self.asked), "run": self.run, "generation": self.generation}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> SpotRecord:
        """Return the values from what `to_state` returned."""
        return cls(
            task=int(state["task"]), asked=state["asked"], run=state.get("run"), generation=state.get("generation")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotRegistration:
    """A run that has called the Hub, and where its server listens."""

    run: str  #: Id of the run.
    address: str  #: Address of its rank 0, from the scheduler service.
    port: int  #: Port that the run has chosen.
    generation: str | None = None  #: Generation of the server that runs there already; None: no server runs.

    @property
    def url(self) -> str:
        """The URL at which the Hub reaches the server."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"http://{host}:{self.port}"

    @property
    def bind_ip(self) -> str:
        """The address that the server must listen on: loopback if the Hub is on the same machine, else all."""
        try:
            address = ipaddress.ip_address(self.address)
        except ValueError:
            return "0.0.0.0"  # noqa: S104  # the Hub comes from another machine
        if address.is_loopback:
            return self.address
        return "0.0.0.0" if address.version == 4 else "::"  # noqa: S104  # as above


def has_ended(task: Mapping[str, Any] | None) -> bool:
    """Return whether a task has ended, or is unknown to the service (None)."""
    return task is None or task["state"] in _ENDED


def serves(task: Mapping[str, Any], run: str) -> bool:
    """Return whether this run of the task is the one that holds a node now."""
    runs = task["runs"]
    return task["state"] in _LIVE and bool(runs) and runs[-1]["id"] == run and runs[-1]["ended_at"] is None


def exit_status(task: Mapping[str, Any] | None) -> int:
    """Return the exit status for the Hub of a task that has ended: 1 if it failed, else 0."""
    return 1 if task is not None and task["state"] == "failed" else 0


def ending(task: Mapping[str, Any] | None) -> str:
    """Return why a server can no longer start, as a sentence."""
    if task is None:
        return "Its task is gone."
    return f"Task {task['id']} has ended: {str(task['message']).rstrip('.')}."


def waiting_line(explained: Mapping[str, Any]) -> str:
    """Return why a task waits, with its place and earliest start, from the answer of `GET /tasks/{id}/explain`."""
    parts = [f"Task {explained['task_id']}: {explained['sentence']}"]
    verdict = explained.get("verdict") or {}
    if verdict.get("position") is not None:
        parts.append(f"Place {verdict['position']} in the queue.")
    if verdict.get("earliest_start"):
        # Without seconds, so that the line does not change at every check.
        parts.append(f"Earliest start {str(verdict['earliest_start'])[11:16]} UTC.")
    return " ".join(parts)
