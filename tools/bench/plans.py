"""How long one plan takes: `python -m bench plans`. Steady states, one core, beside the original's open algorithm.

Times are CPU seconds of the one thread that plans (it waits for nothing, so on an idle machine they are wall time;
the table shows wall time beside them). The service holds the garbage collector off while it plans, and so do these;
a second series leaves it on. Each measurement has a fresh process on one CPU.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import ParamSpec, TypeVar

from bench.figures import Report, percentile, say
from hai_scheduler.core.model.decisions import Plan
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.core.planning.plan_cache import PlanCache
from hai_scheduler.service.shared.gc_paused import gc_paused
from hai_scheduler.sim.formats.trace import Trace, jobs_of
from hai_scheduler.sim.generate import Mix, generate
from hai_scheduler.sim.scenario import Setting, cluster_of
from hai_scheduler.sim.simulate import simulate
from kit.busy_cluster import Planner, World, live
from kit.seeded_clusters import Maker, Shape

TOPIC = "one plan"
GROWTH = "growth of one plan"
SMALL, MIDDLE, LARGE = Shape(500, 2_000), Shape(1_500, 10_000), Shape(10_000, 100_000)
#: Warm plans that are measured; the large ones take long.
WARM = {SMALL: 400, MIDDLE: 300, LARGE: 30}
#: How often plans are made again: a slow plan is slow each time, but a machine is not always busy.
AGAIN = 2
#: Steps of two minutes before anything is measured.
WARM_UP = {LARGE: 12}
MIDDLE_P99_MS, LARGE_P99_MS, LARGE_MIB, TIMES_FASTER = 50, 1_000, 1_024, 20
#: Sizes over which growth is fitted: one number grows, the other stands still, or both grow together.
SERIES = {
    "nodes, 10,000 tasks": [Shape(500, 10_000), Shape(1_000, 10_000), Shape(2_000, 10_000), Shape(4_000, 10_000)],
    "tasks, 1,000 nodes": [Shape(1_000, 3_000), Shape(1_000, 9_000), Shape(1_000, 27_000)],
    "both, 10 tasks a node": [Shape(400, 4_000), Shape(1_200, 12_000), Shape(3_600, 36_000)],
}
GROWTH_WARM = 60
SIMULATED = Mix(tasks=2_000, load=0.9, nodes=32)

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(slots=True)
class Measured:
    """The measurements of a steady state."""

    #: Seconds of each warm plan, and of the very first on an empty cluster.
    cpu: list[float] = field(default_factory=list)
    #: The least time of each plan over several passes through all of them.
    least: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    #: The same with the garbage collector on while a plan is made.
    collected: list[float] = field(default_factory=list)
    from_empty: float = 0.0
    decisions: list[int] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    work: list[int] = field(default_factory=list)
    unsettled: bool = False
    running: int = 0
    snapshot_mib: float = 0.0
    peak_mib: float = 0.0
    last: Snapshot | None = None


def measure(report: Report) -> None:
    """All sizes, the original beside them, and growth."""
    for shape in (SMALL, MIDDLE, LARGE):
        say(f"one plan, {shape}")
        found = alone(steady, shape, WARM[shape], WARM_UP.get(shape, 30), True)
        assert found.last is not None
        cold = alone(first, found.last)
        _show(report, shape, found, cold)
        say(f"the original's algorithm, {shape}")
        _compare(report, shape, found, found.last)
    for name, shapes in SERIES.items():
        say(f"growth in {name}")
        _growth(report, name, shapes)
    say("the simulator")
    seconds, plans = alone(simulated)
    note = f"{SIMULATED.tasks:,} made-up tasks, {SIMULATED.nodes} nodes, load {SIMULATED.load}, {plans:,} plans"
    report.add("the simulator", "tasks simulated per second", SIMULATED.tasks / seconds, "/s", note)


def alone(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of the function in a fresh process on one CPU."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_on_one_cpu) as pool:
        return pool.submit(function, *args, **kwargs).result()


def _on_one_cpu() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


# -- in a process of their own ------------------------------------------------------------------------


def steady(shape: Shape, plans: int, warm_up: int, keep: bool = False) -> Measured:
    """Bring a cluster to a steady state, then plan once a second with a handful of changes in between."""
    policy, found = Policy(), Measured()
    world = World(shape, policy=policy)

    cache = PlanCache()  # as in the service

    def planner(snapshot: Snapshot) -> Plan:
        return plan(snapshot, policy, cache=cache)

    snapshot = world.snapshot()
    with gc_paused():
        began = time.process_time()
        made = planner(snapshot)
        found.from_empty = time.process_time() - began
    world.fill(lambda _: made)
    world.settle(planner)
    world.warm_up(planner, warm_up)
    found.unsettled = bool(planner(world.snapshot()).decisions)
    gc.collect()
    found.snapshot_mib = _memory_mib("VmRSS")
    snapshots = [_plan_once(world, planner, found) for _ in range(plans)]
    found.peak_mib = _memory_mib("VmHWM")
    found.least = list(found.cpu)
    for _ in range(AGAIN if keep else 0):
        found.least = [min(before, _seconds(planner, one)) for before, one in zip(found.least, snapshots, strict=True)]
    found.running = live(world.tasks.values())
    for _ in range(plans if keep else 0):
        world.step()
        snapshot = world.snapshot()
        cpu = time.process_time()
        made = planner(snapshot)
        found.collected.append(time.process_time() - cpu)
        world.carry_out(made)
    found.last = world.snapshot() if keep else None
    return found


def _seconds(planner: Planner, snapshot: Snapshot) -> float:
    with gc_paused():
        began = time.process_time()
        planner(snapshot)
        return time.process_time() - began


def _plan_once(world: World, planner: Planner, found: Measured) -> Snapshot:
    """Plan the next snapshot, and carry the plan out; returns the snapshot."""
    world.step()
    snapshot = world.snapshot()
    with gc_paused():
        wall, cpu = time.perf_counter(), time.process_time()
        made = planner(snapshot)
        found.cpu.append(time.process_time() - cpu)
        found.wall.append(time.perf_counter() - wall)
    found.decisions.append(len(made.decisions))
    found.kinds.update(type(decision).__name__ for decision in made.decisions)
    found.work.append(made.work)
    world.carry_out(made)
    return snapshot


def first(snapshot: Snapshot) -> float:
    """Seconds of the first plan of this process."""
    began = time.process_time()
    with gc_paused():
        plan(snapshot, Policy())
    return time.process_time() - began


def simulated() -> tuple[float, int]:
    """Seconds and plans of a simulation."""
    nodes = cluster_of(SIMULATED.nodes)
    trace = Trace(file="made up", jobs=tuple(generate(SIMULATED)))
    setting = Setting(nodes=nodes, restart_cost=timedelta(seconds=60))
    jobs, _ = jobs_of(trace, nodes)
    began = time.process_time()
    outcome = simulate(setting, jobs)
    return time.process_time() - began, len(outcome.records.plan_seconds)


def original(shape: Shape, snapshot: Snapshot, times: int, quota: bool, tight: bool) -> tuple[float, float]:
    """Median seconds of the original's algorithm on the snapshot, and in the ticks that follow from its decisions."""
    from bench.original import carry_out, end_some, frames, schedule

    rng = random.Random(0)
    given = frames(snapshot, Maker(shape))
    on_it: list[float] = []
    own: list[float] = []
    for number in range(times * 2):
        with gc_paused():
            began = time.process_time()
            made = schedule(given, rng, quota=quota, tight=tight)
            (on_it if number < times else own).append(time.process_time() - began)
        if number >= times - 1:
            carry_out(given, made)
            end_some(given, 2, rng)
    return percentile(on_it, 50), percentile(own[1:] or own, 50)


def _memory_mib(name: str) -> float:
    """Memory of this process; unlike `ru_maxrss`, the peak does not count what the parent had before it began."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise LookupError(f"/proc/self/status has no {name}")


# -- what is shown ------------------------------------------------------------------------------------


def _show(report: Report, shape: Shape, found: Measured, cold: float) -> None:
    count = len(found.cpu)
    p99 = percentile(found.cpu, 99) * 1000
    report.add(TOPIC, f"{shape}: warm, p50", percentile(found.cpu, 50) * 1000, "ms", f"of {count}")
    limit = {MIDDLE: MIDDLE_P99_MS, LARGE: LARGE_P99_MS}.get(shape)
    report.add(TOPIC, f"{shape}: warm, p99", p99, "ms", at_most=limit)
    least = f"p99; p50 {percentile(found.least, 50) * 1000:,.1f} ms; least of {AGAIN + 1}: without the machine's noise"
    report.add(TOPIC, f"{shape}: warm, of the plans themselves", percentile(found.least, 99) * 1000, "ms", least)
    report.add(TOPIC, f"{shape}: warm, max", max(found.cpu) * 1000, "ms")
    wall = f"p50; p99 {percentile(found.wall, 99) * 1000:,.1f} ms: others worked on this machine"
    report.add(TOPIC, f"{shape}: warm, wall time", percentile(found.wall, 50) * 1000, "ms", wall)
    collected = percentile(found.collected, 50) * 1000
    note = f"p50; p99 {percentile(found.collected, 99) * 1000:,.1f} ms"
    report.add(TOPIC, f"{shape}: warm, garbage collector left on", collected, "ms", note)
    report.add(TOPIC, f"{shape}: first plan of a process", cold * 1000, "ms")
    report.add(TOPIC, f"{shape}: from an empty cluster", found.from_empty * 1000, "ms", "starts all that it can hold")
    kinds = ", ".join(f"{name} {number}" for name, number in sorted(found.kinds.items()))
    idle = sum(not number for number in found.decisions)
    mean = sum(found.decisions) / count
    report.add(
        TOPIC, f"{shape}: decisions a plan", mean, "", f"{kinds}; none in {idle} of {count}; {found.running} live"
    )
    report.add(TOPIC, f"{shape}: work a plan", percentile(found.work, 50), "", f"p50; max {max(found.work):,}")
    note = f"{found.snapshot_mib:,.0f} MiB of it before the plans: the program, the snapshot, its history"
    most = LARGE_MIB if shape == LARGE else None
    report.add(TOPIC, f"{shape}: peak memory", found.peak_mib, "MiB", note, at_most=most)
    if found.unsettled:
        report.skip(f"{TOPIC}, {shape}", "it never came to rest: a plan that was carried out left decisions")


def _compare(report: Report, shape: Shape, found: Measured, snapshot: Snapshot) -> None:
    """The original in the same run, on the same core and snapshot; the faster of its two states counts."""
    topic = "the original's open algorithm, frames built before"
    times = 3 if shape == LARGE else 12
    hai = percentile(found.cpu, 50)
    if find_spec("pandas") is None:
        report.skip(topic, "the Python package pandas is not installed: pip install -e '.[dev]'")
        return
    for name, quota, tight in (
        ("row loops", True, False),
        ("row loops, no quota", False, False),
        ("tuples", True, True),
        ("tuples, no quota", False, True),
    ):
        here, own = alone(original, shape, snapshot, times, quota, tight)
        note = f"in its own steady state; {here * 1000:,.0f} ms on HAI's snapshot"
        report.add(topic, f"{shape}: {name}", own * 1000, "ms", note)
        least = TIMES_FASTER if (name, shape) == ("row loops", MIDDLE) else None
        ratio = min(here, own) / hai
        report.add(topic, f"{shape}: {name} / HAI", ratio, "x", "p50 to p50", at_least=least)


def _growth(report: Report, name: str, shapes: list[Shape]) -> None:
    medians = [percentile(alone(steady, shape, GROWTH_WARM, 15).cpu, 50) for shape in shapes]
    by_nodes = name.startswith("nodes")
    sizes = [shape.nodes if by_nodes else shape.tasks for shape in shapes]
    most = exponent(sizes, [size * math.log(size) for size in sizes])
    note = ", ".join(
        f"{shape.nodes:,} x {shape.tasks:,}: {m * 1000:.1f} ms" for shape, m in zip(shapes, medians, strict=True)
    )
    report.add(GROWTH, f"exponent in {name}", exponent(sizes, medians), "", note, at_most=round(most, 2))


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The slope of a straight line through the logarithms, by least squares."""
    xs, ys = [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    products = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True))
    return products / sum((x - middle_x) ** 2 for x in xs)
