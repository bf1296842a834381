"""The numbers that the rules leave to an admin (docs/scheduling.md prints them in italics)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from hai_scheduler.core.model.task import KEPT_ROTATIONS

#: What a node group may say of snapshots of code: none are taken, users choose, each task has one.
SNAPSHOT_MODES: Final = ("off", "offered", "required")

#: What may become of a task whose GPUs are idle: its owner is told, or its turn ends as well.
IDLE_ACTIONS: Final = ("notify", "yield")


class PolicyError(ValueError):
    """A policy number is out of its range; the message names it, its value and the remedy."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        #: The name of the policy number.
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The policy numbers of one node group, or of all node groups that have none of their own."""

    #: P2: a turn is never ended for an equal before it has lasted this long.
    min_run: timedelta = timedelta(minutes=15)
    #: O2, P2: a turn of a task at level 0 that has lasted this long may be ended for an equal; service of one slice
    #: takes a task to level 1.
    slice: timedelta = timedelta(minutes=30)
    #: P2: a turn at level n may last `slice_growth ** n` slices: long tasks rotate less often.
    slice_growth: float = 2.0
    #: O2: service of this length takes a task to level 2.
    long_after: timedelta = timedelta(hours=4)
    #: O2: a task that has waited longer than this counts as level 0.
    starve_after: timedelta = timedelta(hours=4)
    #: O3: after this time a user's use counts half.
    half_life: timedelta = timedelta(hours=1)
    #: O3: users whose use counts less (weight above 1) or more (below 1) than that of others.
    weights: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    #: O4: an ABOVE_NORMAL task counts as NORMAL when its turn has lasted this long.
    demote_after: timedelta = timedelta(minutes=30)
    #: P6: a turn is never shorter than this many times what suspending and resuming the task costs.
    min_run_per_switch: float = 10.0
    #: P7: a task is told to leave for an equal at most this many times an hour.
    max_rotations: int = 4
    #: P8: after this many interruptions in a row without evidence of a checkpoint a task is not suspended for an equal
    #: any more; 0 switches the rule off.
    max_unsaved: int = 2
    #: F2: how many tasks may span zones at a time.
    max_cross_zone: int = 1
    #: H3: this many failures on a node, for reasons that are not the users' ...
    strikes: int = 3
    #: H3: ... of at least this many tasks ...
    strike_tasks: int = 2
    #: H3: ... and of at least this many users, so that no single user can quarantine a node ...
    strike_users: int = 2
    #: H3: ... within this time put the node in quarantine ...
    strike_window: timedelta = timedelta(hours=1)
    #: H3: ... while at most this share of the group is in quarantine.
    quarantine_share: float = 0.1
    #: How long a task has to save after a notice, unless it says otherwise.
    default_grace: timedelta = timedelta(seconds=120)
    #: Profile `auto`: how long a job that neither catches a signal nor polls may go on after a notice, so that a
    #: checkpoint may appear; at most its grace.
    patience: timedelta = timedelta(seconds=30)
    #: The longest grace that a task may ask for, extensions included.
    max_grace: timedelta = timedelta(seconds=1800)
    #: Starts in a row that may fail for reasons that are not the user's before the task is given up.
    max_failed_starts: int = 3
    #: I1: GPUs of a rank that have done nothing for this long are idle ...
    idle_after: timedelta = timedelta(minutes=15)
    #: I1: ... where nothing is use below this, in per cent ...
    idle_use: float = 1.0
    #: I1: ... at a power below this share of what the GPU may take, or without a process on it.
    idle_power: float = 0.15
    #: I1: what becomes of the task then, one of `IDLE_ACTIONS`.
    idle_action: str = "notify"
    #: Whether tasks may start in a snapshot of their code, or must: one of `SNAPSHOT_MODES`.
    snapshots: str = "offered"
    #: How long a snapshot stays after the end of the last task that has it.
    keep_snapshots: timedelta = timedelta(days=7)
    #: How long entries of the audit are kept; the number for all node groups counts.
    keep_audit: timedelta = timedelta(days=400)

    def of(self, _group: str) -> Policy:
        """Return these numbers for every node group, so that a `Policy` can stand for `Policies`."""
        return self

    def __post_init__(self) -> None:
        self._check("min_run", self.min_run >= _ZERO, "set it to 0s or more")
        if self.slice < self.min_run:
            raise PolicyError(
                "slice", f"slice is {self.slice}, below min_run ({self.min_run}): raise slice or lower min_run"
            )
        self._check("slice", self.slice > _ZERO, "set it above 0s")
        self._check("slice_growth", 1 <= self.slice_growth <= 100, "set it between 1 and 100")
        self._check("long_after", self.long_after >= self.slice, f"set it to slice ({self.slice}) or more")
        self._check("starve_after", self.starve_after > _ZERO, "set it above 0s")
        self._check("half_life", self.half_life > _ZERO, "set it above 0s")
        for user, weight in self.weights.items():
            if not 0 < weight <= 1_000_000:
                raise PolicyError(
                    "weights", f"weights: the weight of {user} is {weight}, set it above 0, at most 1000000"
                )
        self._check("demote_after", self.demote_after > _ZERO, "set it above 0s")
        self._check("min_run_per_switch", 0 <= self.min_run_per_switch <= 1000, "set it between 0 and 1000")
        self._check(
            "max_rotations", 1 <= self.max_rotations <= KEPT_ROTATIONS, f"set it between 1 and {KEPT_ROTATIONS}"
        )
        self._check("max_unsaved", self.max_unsaved >= 0, "set it to 0 (never) or more")
        self._check("max_cross_zone", self.max_cross_zone >= 0, "set it to 0 or more")
        self._check("strikes", self.strikes >= 1, "set it to 1 or more")
        self._check(
            "strike_tasks",
            1 <= self.strike_tasks <= self.strikes,
            f"set it between 1 and strikes ({self.strikes})",
        )
        # May be above `strike_tasks`: policies that set `strike_tasks` to 1 before this number existed stay valid.
        self._check("strike_users", self.strike_users >= 1, "set it to 1 or more")
        self._check("strike_window", self.strike_window > _ZERO, "set it above 0s")
        self._check("quarantine_share", 0 <= self.quarantine_share <= 1, "set it between 0 and 1")
        if not _ZERO <= self.default_grace <= self.max_grace:
            raise PolicyError(
                "default_grace",
                f"default_grace is {self.default_grace}: set it between 0s and max_grace ({self.max_grace})",
            )
        # May be above `default_grace`: policies that set a short one before this number existed stay valid.
        self._check("patience", self.patience >= _ZERO, "set it to 0s or more")
        self._check("max_failed_starts", self.max_failed_starts >= 1, "set it to 1 or more")
        self._check("idle_after", timedelta(minutes=1) <= self.idle_after <= timedelta(days=1), "set it from 1m to 24h")
        self._check("idle_use", 0 <= self.idle_use <= 100, "set it between 0 and 100")
        self._check("idle_power", 0 <= self.idle_power <= 1, "set it between 0 and 1")
        self._check("idle_action", self.idle_action in IDLE_ACTIONS, f"set it to {' or '.join(IDLE_ACTIONS)}")
        self._check("snapshots", self.snapshots in SNAPSHOT_MODES, f"set it to {', '.join(SNAPSHOT_MODES)}")
        self._check("keep_snapshots", self.keep_snapshots >= timedelta(hours=1), "set it to 1h or more")
        self._check("keep_audit", self.keep_audit >= timedelta(days=1), "set it to 1d or more")

    def _check(self, name: str, good: bool, remedy: str) -> None:
        if not good:
            raise PolicyError(name, f"{name} is {getattr(self, name)}: {remedy}")


_ZERO = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """The policy numbers of every node group; groups without numbers of their own have `default`."""

    default: Policy = field(default_factory=Policy)
    groups: Mapping[str, Policy] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, group: str) -> Policy:
        """Return the policy numbers of a node group."""
        return self.groups.get(group, self.default)
