"""What a cluster shows of a run and of its ranks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.core.model.run import Blame, Checkpoint, RankState
from hai_scheduler.core.model.usage_summary import UsageSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class RankObservation:
    """What a cluster shows of one rank."""

    rank: int
    state: RankState
    exit_code: int | None = None
    #: As in `Rank`.
    signal: int | None = None
    #: As in `Rank`.
    ended_at: datetime | None = None
    notified_at: datetime | None = None
    #: Whether the platform had sent the command a signal before it ended; None: not known.
    signalled: bool | None = None
    #: As in `Rank`.
    caught: bool | None = None
    done: bool = False
    #: The rank's `done` speaks for the whole run (`scontrol requeue`).
    done_all: bool = False
    checkpoint: Checkpoint | None = None
    #: Whether the rank had reported a newer checkpoint, which is none any more.
    spoilt: bool = False
    #: As in `Rank`.
    watched: bool | None = None
    job_state: str | None = None
    #: As in `Rank`, at any time.
    summary: UsageSummary | None = None
    #: For a lost rank: its supervisor was killed while its node, other users' ranks there and the service went on.
    supervisor_killed: bool = False
    #: Why the rank could not be started; such an end is not the user's fault.
    start_error: str | None = None
    #: Whether the node is to blame for `start_error`.
    blame: Blame = Blame.NODE
    #: As in `Rank`.
    crowded: bool = False
    #: When the cluster itself ends the rank, or has ended it (a drain, an eviction): the whole run must leave (H1).
    leaving_by: datetime | None = None
    #: What the cluster says about the end of the rank: out of memory, evicted, deleted by hand.
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What a cluster shows of one run. Ranks that the cluster does not know are left out."""

    run_id: RunId
    ranks: tuple[RankObservation, ...]
    #: All ranks have ended, and the cluster keeps its records of the run until it is told that the end was recorded.
    unfinalized: bool = False
    #: The cluster has the order to end the run: a rank that is not shown now will never be started.
    killed: bool = False
    #: The origin that the launch named; None where none is recorded.
    origin: Origin | None = None
    #: Node names in rank order, as far as the cluster knows them.
    nodes: tuple[str, ...] = ()
    #: The user whose run it is, as far as the cluster knows.
    user: str | None = None

    @property
    def gone(self) -> bool:
        """Whether every rank that is shown has ended or is lost."""
        return all(rank.state.gone for rank in self.ranks)
