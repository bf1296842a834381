"""What every cluster refuses: marks that go back, and to start a run where another one has its id (decision 0016)."""

from __future__ import annotations

from hai_scheduler.core.model.ids import Origin
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.ports.cluster import Launch
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.lineage import Superseded


def check_mark(known: Mark | None, mark: Mark) -> None:
    """See that a mark may take the place of the one that a cluster keeps of its database. Raises Superseded."""
    if known is not None and mark.behind(known):
        raise Superseded(
            f"database {mark.database} is behind what the cluster was told of it (epoch {mark.epoch} after "
            f"{known.epoch}, step {mark.steps} after {known.steps}, task {mark.task} after {known.task}): "
            "another service leads, or the database was restored"
        )


def check_origin(launch: Launch, there: Origin | None) -> None:
    """See that a run which the cluster has with the launch's id is the same one. Raises Temporary.

    One that nobody has written an origin down for is of an older version, and is taken for the same.
    """
    if there is not None and there != launch.origin:
        raise Temporary(
            f"run {launch.run_id} is not started: the cluster has a run with that id of database {there.database} in "
            f"its epoch {there.epoch}; see `hai admin orphans list`"
        )
