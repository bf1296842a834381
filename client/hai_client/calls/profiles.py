"""The REST calls for recordings of running tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hai_client import wire
from hai_client.calls.base import Calls, TaskKey, task_path


class RecordingCalls(Calls):
    """The calls of `Client` for recordings."""

    def profile(
        self,
        task: TaskKey,
        *,
        kind: str = "trace",
        seconds: float | None = None,
        steps: int | None = None,
        ranks: Sequence[int] | None = None,
        memory: bool = False,
    ) -> wire.profiles.Recording:
        """Order a recording of a running task, and return it as it begins (docs/profiles.md).

        Args:
            task: The task.
            kind: `trace`: each operator, by PyTorch's profiler. `stacks`: the Python stacks of all threads.
            seconds: The length of a trace (default: 5).
            steps: The length of a trace in steps of the optimizer, instead.
            ranks: The ranks (default: all, or 16 that are spread over a larger gang).
            memory: Whether allocations of memory are part of the trace.

        Raises:
            Conflict: The task does not run, or is being recorded already.
        """
        body: dict[str, Any] = {"kind": kind, "memory": memory}
        given = {"seconds": seconds, "steps": steps, "ranks": None if ranks is None else list(ranks)}
        body.update({name: value for name, value in given.items() if value is not None})
        return self._get(wire.profiles.Recording, "POST", task_path(task, "profiles"), body=body)

    def profiles(self, task: TaskKey) -> tuple[wire.profiles.Recording, ...]:
        """Return the recordings of a task, the newest first."""
        return self._get(wire.profiles.RecordingList, "GET", task_path(task, "profiles")).items

    def profile_of(self, task: TaskKey, number: int) -> wire.profiles.Recording:
        """Return a recording of a task, with what it says once all ranks have ended."""
        return self._get(wire.profiles.Recording, "GET", task_path(task, f"profiles/{number}"))

    def delete_profile(self, task: TaskKey, number: int) -> None:
        """Delete a recording with its traces."""
        self._http.call("DELETE", task_path(task, f"profiles/{number}"))

    def trace(self, task: TaskKey, number: int, rank: int, trace: int) -> bytes:
        """Return the trace of one process: JSON, compressed with gzip."""
        return self._http.fetch(task_path(task, f"profiles/{number}/ranks/{rank}/traces/{trace}"))

    def all_traces(self, task: TaskKey, number: int, *, ranks: Sequence[int] | None = None) -> bytes:
        """Return the traces of all ranks, or of some, as one: JSON, compressed with gzip.

        Raises:
            Conflict: They are too large together; name fewer ranks.
        """
        query = {"ranks": None if ranks is None else ",".join(map(str, ranks))}
        return self._http.fetch(task_path(task, f"profiles/{number}/trace"), query=query)
