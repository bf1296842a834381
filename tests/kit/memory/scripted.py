"""Runs of the memory cluster: computes from a behaviour and from events what a run shows at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hai_scheduler.core.lifecycle.run_outcome import SIGNALLING
from hai_scheduler.core.model.observation import Observation, RankObservation
from hai_scheduler.core.model.run import Blame, Checkpoint, Notice, RankState
from hai_scheduler.ports.cluster import LaunchOrder
from kit.memory.behaviour import Behaviour

_SIGNALLING = {profile.value for profile in SIGNALLING}
_TERM = 143
_KILL = 137
#: Between SIGTERM and SIGKILL.
KILL_AFTER = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """How a rank ends, and when."""

    at: datetime
    state: RankState = RankState.EXITED
    code: int | None = None
    done: bool = False
    #: Whether the job had saved everything when it ended.
    saved: bool = False
    error: str | None = None
    #: With an error: its node had no room beside pods from outside of HAI (F5).
    crowded: bool = False
    #: For a lost rank: its node was well.
    supervisor_killed: bool = False


@dataclass(slots=True, kw_only=True)
class Said:
    """What the job in a rank has reported by itself, beside its script."""

    checkpoint: Checkpoint | None = None
    job_state: str | None = None
    done: bool = False
    done_all: bool = False


@dataclass(slots=True, kw_only=True)
class ScriptedRank:
    """One rank: when it is up, and the earliest end that was set for it."""

    rank: int
    node: str
    up_at: datetime
    #: GPUs that it was given there; empty: the whole node.
    gpus: tuple[int, ...] = ()
    fate: Fate | None = None
    #: When the platform first sends it a signal, that of its profile or SIGTERM; None: it has not.
    signalled_at: datetime | None = None
    said: Said = field(default_factory=Said)
    log: bytearray = field(default_factory=bytearray)
    #: Bytes of the log that have been rotated away.
    log_start: int = 0
    #: Whether the log already has the lines of its start, and of its end.
    told_up: bool = False
    told_end: bool = False

    def collides(self, other: ScriptedRank) -> bool:
        """Whether two ranks on one node were given the same GPU, or one of them the whole node (B4, U2)."""
        return not self.gpus or not other.gpus or not set(self.gpus).isdisjoint(other.gpus)

    def befall(self, fate: Fate) -> None:
        """Set the end of the rank, unless it ends earlier for another reason."""
        if self.fate is None or fate.at < self.fate.at:
            self.fate = fate

    def signal(self, at: datetime) -> None:
        """Record a signal at a time, unless the rank has ended by then."""
        if not self.gone(at):
            self.signalled_at = min(self.signalled_at or at, at)

    def gone(self, now: datetime) -> bool:
        """Whether no process of the rank is left."""
        return self.fate is not None and self.fate.at <= now

    def write(self, at: datetime, text: str) -> None:
        """Add one line to the log."""
        self.log += f"{at:%Y-%m-%dT%H:%M:%S.%f}Z {text}\n".encode()

    def tell(self, now: datetime, prints: tuple[str, ...]) -> None:
        """Write into the log what has happened to the rank until now."""
        if not self.told_up and self.up_at <= now and (self.fate is None or self.fate.at > self.up_at):
            self.told_up = True
            for line in prints:
                self.write(self.up_at, line)
        if self.fate is not None and self.gone(now) and not self.told_end:
            self.told_end = True
            if self.fate.error is not None:
                self.write(self.fate.at, f"[hai] {self.fate.error}")


@dataclass(slots=True, kw_only=True)
class ScriptedRun:
    """One run: the order to launch it, the ranks that were started, and its notice."""

    launch: LaunchOrder
    behaviour: Behaviour
    #: What the task had saved before this run.
    base: timedelta
    ranks: dict[int, ScriptedRank] = field(default_factory=dict)
    notice: Notice | None = None
    noticed_at: datetime | None = None
    #: The run was ordered to end, or recorded as ended: no more ranks are started.
    over: bool = False
    killed: bool = False
    finalized: bool = False

    def start_rank(self, rank: int, now: datetime) -> ScriptedRank:
        """Start a rank that has not been started before."""
        does, up_at = self.behaviour, now + self.behaviour.start_takes
        gpus = self.launch.gpus[rank] if self.launch.gpus else ()
        started = ScriptedRank(rank=rank, node=self.launch.nodes[rank], up_at=up_at, gpus=gpus)
        self.ranks[rank] = started
        if does.start_error is not None:
            started.befall(Fate(at=up_at, error=does.start_error))
            return started
        if does.work is not None and does.failing_rank in (None, rank):
            left = max(does.work - self.base, timedelta(0))
            started.befall(Fate(at=up_at + does.warm_up + left, code=does.exit_code))
        if does.yields_after is not None:
            started.befall(Fate(at=up_at + does.yields_after, code=0, done=True, saved=True))
        if does.lost_after is not None and does.lost_rank == rank:
            started.befall(Fate(at=up_at + does.lost_after, state=RankState.LOST))
        if self.noticed_at is not None:
            self._leave(started, self.noticed_at)
        return started

    def hear(self, notice: Notice, now: datetime) -> None:
        """Take a notice. A newer revision of the same notice changes nothing for the job."""
        first, self.notice = self.notice is None, notice
        if not first:
            return
        self.noticed_at = now
        for rank in self.ranks.values():
            self._leave(rank, now)

    def _leave(self, rank: ScriptedRank, noticed: datetime) -> None:
        does = self.behaviour
        if self.launch.profile in _SIGNALLING:
            rank.signal(self._heard_at(rank, noticed))
        if does.saves_in is not None:
            done = does.says_done and does.done_for_all in (None, rank.rank)
            at = self._heard_at(rank, noticed) + does.saves_in
            rank.befall(Fate(at=at, code=does.leave_code, done=done, saved=does.saves))

    def end(self, now: datetime) -> None:
        """End every rank: SIGTERM, ten seconds later SIGKILL."""
        self.over = self.killed = True
        code = _TERM if self.behaviour.dies_in < KILL_AFTER else _KILL
        for rank in self.ranks.values():
            rank.signal(now)
            rank.befall(Fate(at=now + min(self.behaviour.dies_in, KILL_AFTER), code=code))

    def finalize(self, now: datetime) -> None:
        """Take note that the run's end was recorded."""
        self.over = True
        self.finalized = self.gone(now)

    def gone(self, now: datetime) -> bool:
        """Whether no process of any rank is left."""
        return all(rank.gone(now) for rank in self.ranks.values())

    def ended_at(self) -> datetime:
        """Return when the last rank ended; all ranks must have ended."""
        return max(rank.fate.at for rank in self.ranks.values() if rank.fate is not None)

    def times(self) -> list[datetime]:
        """Return the times at which something happens by itself, as far as they are known now."""
        ups = [rank.up_at for rank in self.ranks.values()]
        return ups + [rank.fate.at for rank in self.ranks.values() if rank.fate is not None]

    def saved(self, now: datetime) -> timedelta:
        """Return how much of the task's work is saved."""
        if all(rank.fate is not None and rank.fate.saved and rank.gone(now) for rank in self.ranks.values()):
            return self.base + self._worked(now)
        every = self.behaviour.saves_every
        return self.base if every is None else self.base + self._worked(now) // every * every

    def _worked(self, until: datetime) -> timedelta:
        """Return how long this run has worked: all ranks up and warm, none ended."""
        began = max(rank.up_at for rank in self.ranks.values()) + self.behaviour.warm_up
        end = min([until, *(rank.fate.at for rank in self.ranks.values() if rank.fate is not None)])
        return max(end - began, timedelta(0))

    def _checkpoint(self, now: datetime) -> Checkpoint | None:
        """Return the newest checkpoint; its step is the seconds of work that it holds."""
        saved = self.saved(now)
        if saved <= self.base:
            return None
        began = max(rank.up_at for rank in self.ranks.values()) + self.behaviour.warm_up
        return Checkpoint(at=began + (saved - self.base), step=int(saved.total_seconds()))

    def _heard_at(self, rank: ScriptedRank, noticed: datetime) -> datetime:
        """Return when a rank's supervisor learns of a notice: it asks for one once it is up."""
        return max(noticed, rank.up_at)

    def show(self, now: datetime) -> Observation:
        """Return what a cluster shows of the run."""
        ranks = tuple(self._show_rank(self.ranks[number], now) for number in sorted(self.ranks))
        unfinalized = self.gone(now) and not self.finalized
        return Observation(
            run_id=self.launch.run_id,
            ranks=ranks,
            unfinalized=unfinalized,
            killed=self.killed,
            origin=self.launch.origin,
            nodes=self.launch.nodes,
            user=self.launch.user,
        )

    def _show_rank(self, rank: ScriptedRank, now: datetime) -> RankObservation:
        fate = rank.fate if rank.gone(now) else None
        heard = None if self.noticed_at is None else self._heard_at(rank, self.noticed_at)
        if heard is not None and (heard > now or (rank.fate is not None and rank.fate.at < heard)):
            heard = None
        up = RankState.RUNNING if rank.up_at <= now else RankState.PENDING
        done = fate is not None and fate.done
        done_for_all = done and self.behaviour.done_for_all == rank.rank
        saves = [rank.said.checkpoint, self._checkpoint(now) if rank.rank == 0 else None]
        return RankObservation(
            rank=rank.rank,
            state=up if fate is None else fate.state,
            exit_code=None if fate is None else fate.code,
            ended_at=fate.at if fate is not None and fate.state is RankState.EXITED else None,
            notified_at=heard,
            signalled=rank.signalled_at is not None and rank.signalled_at <= now,
            done=done or rank.said.done,
            done_all=done_for_all or rank.said.done_all,
            checkpoint=max((save for save in saves if save is not None), key=lambda save: save.at, default=None),
            job_state=rank.said.job_state,
            start_error=None if fate is None else fate.error,
            blame=Blame.NOBODY if fate is not None and fate.crowded else Blame.NODE,
            crowded=fate is not None and fate.crowded,
            supervisor_killed=fate is not None and fate.supervisor_killed,
        )
