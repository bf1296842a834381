"""Checks of every cluster: marks do not go back, and no run is started with the id of another (decision 0016)."""

from __future__ import annotations

from hai_scheduler.core.model.ids import Origin
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.lineage import Superseded


def check_mark(known: Mark | None, mark: Mark) -> None:
    """Check that a mark may replace the one that a cluster keeps of the same database. Raises Superseded."""
    if known is not None and mark.behind(known):
        raise Superseded(
            f"database {mark.database} is behind what the cluster was told of it (epoch {mark.epoch} after "
            f"{known.epoch}, step {mark.steps} after {known.steps}, task {mark.task} after {known.task}): "
            "another service leads, or the database was restored"
        )


def check_origin(launch: LaunchOrder, there: Origin | None) -> None:
    """Check that a run on the cluster with the launch's id is the same run. Raises Temporary.

    A run without an origin was started by an older version, and is taken for the same.
    """
    if there is not None and there != launch.origin:
        raise Temporary(
            f"run {launch.run_id} is not started: the cluster has a run with that id of database {there.database} in "
            f"its epoch {there.epoch}; see `hai admin orphans list`"
        )
