"""The recorded decisions: clusters made from seeds, the plans for them, and the tool that records both.

Run it in `tests/`, as `PYTHONPATH=. python -m unit.core.recorded_decisions`:

    record          plan every cluster and write `recorded_decisions.txt` again
    show NAME...    print whole plans, as two versions of the planner can be compared with `diff`
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from random import Random

from hai_scheduler.core.model.decisions import Decision, Keep, Plan, Quarantine, Start, Stop, Suspend
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Verdict
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.core.planning.plan_cache import PlanCache
from kit.busy_cluster import World
from kit.seeded_clusters import Shape
from kit.snapshots import NOW, random_snapshot

FILE = Path(__file__).with_suffix(".txt")
HEAD = """\
# What the planner decided for each cluster of unit/core/recorded_decisions.py, one plan a line:
# name, digest of the cluster, digest of the decisions, digest of the verdicts, and the first of them in words.
# Written by `python -m unit.core.recorded_decisions record` in tests/ (see CONTRIBUTING.md).
"""
#: How much of a plan stands in its record in words: characters.
WORDS = 150
MINUTE = timedelta(minutes=1)
DEFAULT = Policy()
#: Policy numbers other than the defaults.
POLICIES = {
    "no-zones": Policy(max_cross_zone=0),
    "two-zones": Policy(max_cross_zone=2),
    "weights": Policy(weights={"ann": 4.0, "bob": 0.25}, half_life=10 * MINUTE),
    "quick": Policy(min_run=5 * MINUTE, slice=15 * MINUTE, min_run_per_switch=0.0),
    "strict": Policy(strikes=2, strike_tasks=1, strike_users=1, quarantine_share=0.5, max_rotations=1),
}
#: Clusters that live on, a plan a second with longer pauses in between: shape, rounds, discipline, numbers.
LIVING: dict[str, tuple[Shape, int, Discipline, Policy]] = {
    "small": (Shape(64, 120, 12), 30, Discipline.HAI, Policy()),
    "middle": (Shape(80, 300, 30), 30, Discipline.HAI, Policy()),
    "crowded": (Shape(70, 500, 8), 20, Discipline.HAI, Policy(min_run=5 * MINUTE, slice=10 * MINUTE)),
    "strikes": (Shape(400, 900, 60), 8, Discipline.HAI, POLICIES["strict"]),
    "las": (Shape(64, 160, 20), 20, Discipline.LAS, Policy()),
    "backfill": (Shape(64, 160, 20), 20, Discipline.BACKFILL, Policy()),
    "fifo": (Shape(64, 160, 20), 12, Discipline.FIFO, Policy()),
}


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one plan."""

    name: str
    cluster: str
    decisions: str
    verdicts: str
    words: str

    def __str__(self) -> str:
        return f"{self.name} {self.cluster} {self.decisions} {self.verdicts} {self.words}"

    @classmethod
    def read(cls, line: str) -> Record:
        """The record that the line holds."""
        name, cluster, decisions, verdicts, words = line.split(" ", 4)
        return cls(name, cluster, decisions, verdicts, words)


Planned = tuple[str, Snapshot, Plan]


# -- clusters -----------------------------------------------------------------------------------------


def families() -> tuple[str, ...]:
    """The families of clusters, in the order of the record; a name such as `hai/7` begins with one."""
    return (*_alone(), *(f"living-{name}" for name in LIVING))


def planned(family: str) -> Iterator[Planned]:
    """Every cluster of the family under its name, with the plan that is made for it now."""
    if family.startswith("living-"):
        yield from living(family.removeprefix("living-"))
    else:
        each = _alone()[family]
        for seed in range(each.count):
            shot = each.cluster(seed)
            yield f"{family}/{seed}", shot, plan(shot, each.policies, each.discipline)


@dataclass(frozen=True, slots=True)
class Alone:
    """A family of single small clusters, which reach the corner cases of the rules."""

    count: int
    cluster: Callable[[int], Snapshot]
    policies: Policy | Policies = DEFAULT
    discipline: Discipline = Discipline.HAI


def _alone() -> dict[str, Alone]:
    others = [each for each in Discipline if each is not Discipline.HAI]
    both = Policies(groups={"other": POLICIES["quick"]})
    return {
        "hai": Alone(150, _made),
        **{str(each): Alone(20, lambda seed: _made(1_000 + seed), discipline=each) for each in others},
        **{name: Alone(20, lambda seed: _made(2_000 + seed), policy) for name, policy in POLICIES.items()},
        "mixed": Alone(40, lambda seed: _mixed(_made(3_000 + seed))),
        "paused": Alone(30, _paused),
        "groups": Alone(30, _two_groups, both),
    }


def _paused(seed: int) -> Snapshot:
    return replace(_made(4_000 + seed), paused=True, pause_grace=MINUTE if seed % 2 else None)


def _made(seed: int, tasks: int | None = None) -> Snapshot:
    """Up to 8 nodes and 24 tasks. Some have had their time limits, some are known to run much longer."""
    random = Random(f"recorded {seed}")
    count = random.choice((6, 10, 10, 16, 24)) if tasks is None else tasks
    shot = random_snapshot(seed, range(random.choice((2, 4, 8))), range(1, count + 1))
    left = {task.id: timedelta(minutes=random.randint(1, 300)) for task in shot.tasks}
    return replace(shot, remaining=left)


def _mixed(shot: Snapshot) -> Snapshot:
    """Every third node has twice as many GPUs as the others."""
    nodes = tuple(replace(node, gpus=8) if n % 3 == 1 else node for n, node in enumerate(shot.nodes))
    return replace(shot, nodes=nodes)


def _two_groups(seed: int) -> Snapshot:
    """Two node groups in one cluster, with the rows of quota and the use of each, some of which expire."""
    here, there = _made(5_000 + seed, 8), _made(6_000 + seed, 8)
    names = {node.name: f"x-{node.name}" for node in there.nodes}
    tasks = tuple(_moved(task, names) for task in there.tasks)
    rows = tuple(replace(row, group="other") for row in there.quotas)
    rows = tuple(replace(row, expires_at=NOW + n * MINUTE) if n % 3 == 0 else row for n, row in enumerate(rows))
    return replace(
        here,
        nodes=(*here.nodes, *(replace(node, name=names[node.name], group="other") for node in there.nodes)),
        tasks=(*here.tasks, *tasks),
        quotas=(*here.quotas, *rows),
        uses=(*here.uses, *(replace(use, group="other") for use in there.uses)),
        remaining={**here.remaining, **{task.id: timedelta(hours=1) for task in tasks}},
    )


def _moved(task: Task, names: dict[str, str]) -> Task:
    """The task in the other group, with an id of its own."""
    number = type(task.id)(task.id + 100)
    run = task.run
    if run is not None:
        ranks = tuple(replace(rank, node=names[rank.node]) for rank in run.ranks)
        run = replace(run, id=type(run.id)(f"{number}.{run.number}"), ranks=ranks)
    avoid = frozenset(names[name] for name in task.avoid if name in names)
    promise = frozenset(names[name] for name in task.promise)
    return replace(task, id=number, group="other", run=run, avoid=avoid, promise=promise)


def living(name: str) -> Iterator[Planned]:
    """A cluster that lives on, planned with one memory: turns age and end, tasks come, are promised nodes, start."""
    shape, rounds, discipline, policy = LIVING[name]
    world, cache = World(shape, seed=len(name), policy=policy), PlanCache()

    def planner(shot: Snapshot) -> Plan:
        return plan(shot, policy, discipline, cache)

    world.fill(planner)
    for number in range(rounds):
        if number % 3 == 2:
            world.now += timedelta(minutes=9)
            world.change(shape.nodes / 20)
        world.step()
        shot = world.snapshot()
        made = planner(shot)
        yield f"living-{name}/{number}", shot, made
        world.carry_out(made)


# -- in words -----------------------------------------------------------------------------------------


def record_of(name: str, shot: Snapshot, made: Plan) -> Record:
    """What is stored of a plan."""
    decisions = [in_words(decision) for decision in made.decisions]
    kinds = Counter(verdict.kind.value for verdict in made.verdicts.values())
    waiting = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    words = "; ".join(decisions) or "nothing"
    if len(words) > WORDS:
        words = f"{words[:WORDS]}... ({len(decisions)} decisions)"
    return Record(
        name,
        _digest(_cluster_lines(shot)),
        _digest([*decisions, *_times(made)]),
        _digest(_verdict_lines(made)),
        f"{words} | {waiting or 'none wait'}",
    )


def text_of(name: str, shot: Snapshot, made: Plan) -> str:
    """The text from which the digests of a plan are made, one line for each fact."""
    decisions = [in_words(decision) for decision in made.decisions]
    return "\n".join([f"== {name}", *_cluster_lines(shot), *decisions, *_times(made), *_verdict_lines(made)])


def in_words(decision: Decision) -> str:
    """The decision, such as `start 3 at NORMAL on node-1 node-2`."""
    match decision:
        case Start():
            gpus = [",".join(map(str, indices)) for indices in decision.gpus]
            shares = f" GPUs {' '.join(gpus)}" if gpus else ""
            return f"start {decision.task_id} at {decision.priority.name} on {' '.join(decision.nodes)}{shares}"
        case Suspend():
            return f"suspend {decision.task_id} {decision.reason.value} for {decision.beneficiary}"
        case Keep():
            return f"keep for {decision.task_id} {' '.join(sorted(decision.nodes)) or 'nothing'}"
        case Stop():
            return f"stop {decision.task_id} {decision.reason.value}"
        case Quarantine():
            return f"quarantine {decision.node} for {' '.join(map(str, decision.tasks))}"


def _verdict_lines(made: Plan) -> list[str]:
    return [f"{task_id} waits: {_verdict(verdict)}" for task_id, verdict in sorted(made.verdicts.items())]


def _verdict(verdict: Verdict) -> str:
    data = " ".join(f"{key}={_value(value)}" for key, value in sorted(verdict.data.items()))
    holders = " ".join(
        f"{each.task_id}/{each.name}/{each.user}/{each.priority.name}/{each.nodes}/{each.gpus}"
        for each in verdict.holders
    )
    start = _value(verdict.earliest_start)
    return (
        f"{verdict.kind.value} at {verdict.priority.name}, place {verdict.position}, from {start}; {data}; by {holders}"
    )


def _times(made: Plan) -> list[str]:
    return [f"look again {_value(made.look_again)}", f"good until {_value(made.good_until)}"]


def _value(value: object) -> str:
    """The value as text; times are cut to the second, because the last digits of floats differ between machines."""
    return value.replace(microsecond=0).isoformat() if isinstance(value, datetime) else str(value)


def _cluster_lines(shot: Snapshot) -> list[str]:
    """Lines that identify a recorded cluster; they leave out some fields, so that fields may be added to the model."""
    nodes = [f"node {node.name} {node.zone} {node.gpus} {node.schedulable}" for node in shot.nodes]
    tasks = [
        f"task {task.id} {task.user} {task.state.value} {task.priority} {task.nodes}x{task.gpus} "
        f"{task.run.nodes if task.live_run and task.run else ''} {sorted(task.promise)} {_value(task.submitted_at)}"
        for task in shot.tasks
    ]
    return [f"at {_value(shot.now)}", *nodes, *tasks, *(f"quota {row.subject} {row.limit}" for row in shot.quotas)]


def _digest(lines: Iterable[str]) -> str:
    return blake2b("\n".join(lines).encode(), digest_size=5).hexdigest()


# -- the file -----------------------------------------------------------------------------------------


def recorded() -> dict[str, Record]:
    """The records of the file, by name, in its order."""
    lines = [line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {record.name: record for record in map(Record.read, lines)}


def _record(_names: list[str]) -> None:
    lines = [str(record_of(*each)) for family in families() for each in planned(family)]
    FILE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} plans recorded in {FILE}")


def _show(names: list[str]) -> None:
    for name, shot, made in (each for family in families() for each in planned(family)):
        if name in names or not names:
            print(text_of(name, shot, made), end="\n\n")


def main() -> None:
    """Run the command: `record` or `show`."""
    does: dict[str, Callable[[list[str]], None]] = {"record": _record, "show": _show}
    parser = argparse.ArgumentParser(description="The recorded decisions of the planner.")
    parser.add_argument("what", choices=does)
    parser.add_argument("names", nargs="*", help="plans to show, such as hai/7 (default: all)")
    asked = parser.parse_args()
    does[asked.what](asked.names)


if __name__ == "__main__":
    main()
