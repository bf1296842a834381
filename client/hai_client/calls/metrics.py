"""The REST calls for what tasks used."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hai_client import wire
from hai_client.calls.base import Calls, TaskKey, task_path


class MetricsCalls(Calls):
    """The calls of `Client` for metrics."""

    def cluster_use(self, *, mine: bool = False) -> wire.metrics.ClusterUse:
        """Return the tasks that hold nodes now, with what they use; of another user's task only who has which nodes.

        Args:
            mine: Only the caller's own tasks.
        """
        return self._get(wire.metrics.ClusterUse, "GET", "/cluster/use", query={"mine": "true" if mine else None})

    def metrics(
        self,
        task: TaskKey,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        step: int | None = None,
        run: int | None = None,
        ranks: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
    ) -> wire.metrics.TaskSeries:
        """Return what the ranks of a task used, over all its runs (docs/metrics.md).

        Args:
            task: The task.
            since: Only points that end after this time (default: from the first run on).
            until: Only points that end by this time (default: to the newest).
            step: The length of the spans in seconds, 10 or more (default: as suits the time between the two).
            run: The number of one run (default: all runs).
            ranks: The ranks (default: the first 16).
            names: The metrics (default: all); `job_*` stands for all numbers that the job reports.
        """
        return self._get(
            wire.metrics.TaskSeries,
            "GET",
            task_path(task, "metrics"),
            query={
                "since": None if since is None else since.isoformat(),
                "until": None if until is None else until.isoformat(),
                "step": step,
                "run": run,
                "ranks": None if ranks is None else ",".join(map(str, ranks)),
                "names": None if names is None else ",".join(names),
            },
        )
