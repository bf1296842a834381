"""How well public traces are scheduled, in simulations: `make bench ARGS=traces`. Needs ../shared/traces.

The same simulator, jobs, cluster and restart cost for every discipline; SRTF knows how long each job takes and is a
bound, not a competitor. No trace names its users: they are made up with seed 0 (docs/simulator.md).
"""

from __future__ import annotations

import csv
import multiprocessing
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from bench import frontier
from bench.figures import Report, say
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.sim.formats import FORMATS
from hai_scheduler.sim.formats.trace import TraceReading, jobs_of
from hai_scheduler.sim.scenario import Setting, SimulatedJob, cluster_of
from hai_scheduler.sim.simulate import Progress, simulate
from hai_scheduler.sim.summary import summarize

Summary = dict[str, Any]

RESTART = timedelta(seconds=60)
BEGIN, END = datetime(2017, 10, 1, tzinfo=UTC), datetime(2017, 12, 1, tzinfo=UTC)
PROGRESS_S = 60
PROCESSES = 2


@dataclass(frozen=True, slots=True)
class Study:
    """A study: jobs, and a cluster for them."""

    #: The name by which the command line chooses the study.
    key: str
    name: str
    file: str
    nodes: int
    begin: datetime | None = None
    end: datetime | None = None
    #: Whether only jobs of whole nodes count.
    whole: bool = False

    @property
    def format(self) -> str:
        return self.file.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Case:
    """One simulation."""

    study: Study
    discipline: Discipline
    #: min_run and slice in minutes, and slice_growth; None: the defaults.
    turns: tuple[int, int, float] | None = None

    def __str__(self) -> str:
        turns = "" if self.turns is None else " {} min / {} min / {:g}".format(*self.turns)
        return f"{self.study.name}: {self.discipline.value}{turns}"

    @property
    def policy(self) -> Policy:
        """The policy numbers of this case."""
        if self.turns is None:
            return Policy()
        least, whole, growth = self.turns
        return Policy(min_run=timedelta(minutes=least), slice=timedelta(minutes=whole), slice_growth=growth)


PHILLY = "philly/philly.csv"
POOLED = Study("pooled", "philly, October and November, 72 nodes of 8 GPUs", PHILLY, 72, BEGIN, END)
WHOLE = Study("whole", "philly, its jobs of 8 GPUs and more, 32 nodes", PHILLY, 32, BEGIN, END, whole=True)
MURI = Study("muri", "muri trace2, 64 nodes of 8 GPUs", "muri/trace2.csv", 64)
#: A load of about 1, and a simulation takes half a minute.
MONTH = Study(
    "frontier",
    "philly, its jobs of 8 GPUs and more in October, 40 nodes",
    PHILLY,
    40,
    BEGIN,
    BEGIN + timedelta(31),
    True,
)
#: Longest first: two processes end at about the same time.
CASES = (
    *(Case(POOLED, Discipline(name)) for name in ("fifo", "backfill", "las", "hai", "srtf")),
    *(Case(WHOLE, Discipline(name)) for name in ("hai", "fifo", "srtf")),
    *(Case(MURI, Discipline(name)) for name in ("hai", "fifo", "srtf")),
    *(Case(MONTH, Discipline.HAI, turns) for turns in frontier.choices()),
    *(Case(MONTH, Discipline(name)) for name in ("srtf", "las", "fifo")),
)


def measure(report: Report, root: Path, studies: Sequence[str] = ()) -> dict[str, Summary]:
    """Simulate the studies (all, if none is named), judge them and draw the frontier; the summaries by case."""
    traces = root.parent / "shared" / "traces"
    if not traces.is_dir():
        report.skip("traces", f"there are no traces on this machine: {traces} does not exist")
        return {}
    chosen = [case for case in CASES if not studies or case.study.key in studies]
    found = dict(_all(chosen, traces))
    for study, judge in ((POOLED, _pooled), (WHOLE, _whole), (MURI, _muri)):
        of = {case.discipline: summary for case, summary in found.items() if case.study is study}
        if of:
            _show(report, study, of)
            judge(report, study, of)
    points = [(case.discipline, case.policy, summary) for case, summary in found.items() if case.study is MONTH]
    if points:
        frontier.draw(report, root, MONTH.name, points)
    return {str(case): summary for case, summary in found.items()}


# -- simulations, in processes of their own -----------------------------------------------------------


def _all(cases: Sequence[Case], traces: Path) -> Iterable[tuple[Case, Summary]]:
    context, began = multiprocessing.get_context("spawn"), time.monotonic()
    found: dict[int, Summary] = {}
    with ProcessPoolExecutor(PROCESSES, mp_context=context, max_tasks_per_child=1) as pool:
        waiting = {pool.submit(run, case, traces): number for number, case in enumerate(cases)}
        for future in as_completed(waiting):
            case = cases[waiting[future]]
            found[waiting[future]] = summary = future.result()
            minutes = (time.monotonic() - began) / 60
            mean = summary["completion_s"]["all"]["mean"]
            say(f"{len(found)} of {len(cases)} after {minutes:.0f} min: {case}: mean completion {mean:,.0f} s")
    return [(case, found[number]) for number, case in enumerate(cases)]


def run(case: Case, traces: Path) -> Summary:
    """The summary of one simulation."""
    study, began = case.study, time.process_time()
    setting = Setting(
        nodes=cluster_of(study.nodes), policies=case.policy, discipline=case.discipline, restart_cost=RESTART
    )
    outcome = simulate(setting, jobs_for(study, traces), progress=_Teller(str(case)))
    summary = summarize(outcome)
    return {**summary, "cpu_s": round(time.process_time() - began, 1)}


def jobs_for(study: Study, traces: Path) -> list[SimulatedJob]:
    """The jobs of a study."""
    only = frozenset(_virtual_clusters(traces)) if study.file == PHILLY else frozenset()
    reading = TraceReading(begin=study.begin, end=study.end, only=only)
    trace = FORMATS[study.format](str(traces / study.file), reading)
    jobs, _ = jobs_of(trace, cluster_of(study.nodes))
    return [job for job in jobs if not study.whole or job.task.gpus is None]


def _virtual_clusters(traces: Path) -> list[str]:
    with (traces / "philly" / "philly_vc.csv").open() as file:
        return [row["vc"] for row in csv.DictReader(file)]


class _Teller:
    """Prints once a minute how far a long simulation is."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._next = time.monotonic() + PROGRESS_S

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() >= self._next:
            self._next += PROGRESS_S
            say(f"   {self._name}: {progress.done:,} of {progress.jobs:,} jobs")


# -- what is shown ------------------------------------------------------------------------------------


def _show(report: Report, study: Study, of: dict[Discipline, Summary]) -> None:
    for discipline, found in of.items():
        add = partial(_add, report, study, discipline)
        done, queue = found["completion_s"]["all"], found["queue_s"]["all"]
        note = f"p50 {_hours(done['p50'])}, p90 {_hours(done['p90'])}, p99 {_hours(done['p99'])}"
        add("mean completion", done["mean"] / 3600, "h", note)
        add("mean wait", queue["mean"] / 3600, "h", f"p50 {_hours(queue['p50'])}, p90 {_hours(queue['p90'])}")
        whole = f"of the whole time {found['occupancy']:.1%}, useful {found['useful']:.1%}"
        note = f"useful {found['busy_useful']:.2%}; {whole}"
        add("occupancy while somebody waits", found["busy_occupancy"] * 100, "%", note)
        lost = found["lost_node_s"] / 3600
        add("suspensions", found["suspensions"], "", f"lost {lost:,.0f} node hours; most of one task: "
            f"{found['suspensions_per_task_max']}")  # fmt: skip
        unfair = found["users_slowdown_max_over_median"]
        add(
            "worst user's slowdown / median user's",
            unfair,
            "x",
            f"Jain {found['users_slowdown_jain']}, {found['users']} users",
        )
        plans = found["plan_ms"]
        rate = found["tasks"] / found["cpu_s"]
        note = f"{found['ticks']:,} plans, p50 {plans['p50']} ms, p99 {plans['p99']} ms; {found['cpu_s']:,.0f} s CPU"
        add("tasks simulated per second", rate, "/s", note)
        if found["unfinished"]:
            add("tasks that never ended", found["unfinished"], "")


def _add(
    report: Report, study: Study, discipline: Discipline, name: str, value: float, unit: str, note: str = ""
) -> None:
    load = f"{discipline.value}: {name}"
    report.add(study.name, load, value, unit, note)


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds:.0f} s"


def _mean(found: Summary) -> float:
    return float(found["completion_s"]["all"]["mean"])


def _pooled(report: Report, study: Study, of: dict[Discipline, Summary]) -> None:
    hai, fifo, srtf = of[Discipline.HAI], of[Discipline.FIFO], of[Discipline.SRTF]
    report.add(study.name, "hai / srtf, mean completion", _mean(hai) / _mean(srtf), "x", at_most=1.2)
    report.add(study.name, "fifo / hai, mean completion", _mean(fifo) / _mean(hai), "x", at_least=3)
    for other in (Discipline.LAS, Discipline.BACKFILL):
        report.add(study.name, f"{other.value} / hai, mean completion", _mean(of[other]) / _mean(hai), "x")
    wait = hai["wait_s"]["below_node"]["p90"]
    note = f"with restarts {hai['queue_s']['below_node']['p90']:.0f} s"
    report.add(study.name, "hai: p90 wait of tasks below a node", wait, "s", note, at_most=120)


def _whole(report: Report, study: Study, of: dict[Discipline, Summary]) -> None:
    hai = of[Discipline.HAI]
    busy, useful = hai["busy_occupancy"] * 100, hai["busy_useful"] * 100
    report.add(study.name, "hai: occupancy while somebody waits", busy, "%", f"load {hai['load']:.2f}", at_least=98)
    report.add(study.name, "hai: of it useful", useful, "%", at_least=96)
    unfair = hai["users_slowdown_max_over_median"]
    report.add(study.name, "hai: worst user's mean slowdown / median user's", unfair, "x", at_most=3)
    report.add(study.name, "hai / srtf, mean completion", _mean(hai) / _mean(of[Discipline.SRTF]), "x")


def _muri(report: Report, study: Study, of: dict[Discipline, Summary]) -> None:
    hai, fifo, srtf = of[Discipline.HAI], of[Discipline.FIFO], of[Discipline.SRTF]
    report.add(study.name, "hai / srtf, mean completion", _mean(hai) / _mean(srtf), "x", at_most=1.5)
    report.add(study.name, "fifo / hai, mean completion", _mean(fifo) / _mean(hai), "x")
