"""The parts on the platform: which GPUs tasks see, what is sampled, idle GPUs, and memory that changes hands."""

from __future__ import annotations

import json
from typing import Any

from gpu.card import MIB, cards, compare
from gpu.table import NotShown
from gpu.up import Tasks

#: A part of a GPU's memory that two tasks cannot hold at once.
MOST = 0.7


def sees(tasks: Tasks, known: list[dict[str, str]]) -> str:
    """A task sees the GPUs of its node, by the numbers that nvidia-smi has for them."""
    seen = _seen(tasks, tasks.program("say", "wait:seen"))
    tasks.let("seen")
    told = f"CUDA_VISIBLE_DEVICES={seen['visible']}: CUDA shows {', '.join(seen['uuids'])}"
    assert seen["uuids"] == [card["uuid"] for card in known], told
    return told


def two_share(tasks: Tasks, known: list[dict[str, str]]) -> str:
    """Two tasks on one node see different GPUs, each the one that it was given."""
    if len(known) < 2:
        raise NotShown("this machine has one GPU, and two are needed")
    both = [tasks.program("say", "wait:shared", gpus=1) for _ in range(2)]
    seen = [_seen(tasks, number) for number in both]
    assert {tasks.client.task(number).state for number in both} == {"running"}, "the two do not run at once"
    tasks.let("shared")
    told = ", ".join(f"{one['visible']}: {' '.join(one['uuids'])}" for one in seen)
    assert all(one["uuids"] == [known[int(one["visible"])]["uuid"]] for one in seen), told
    assert seen[0]["uuids"] != seen[1]["uuids"], told
    return told


def sampled(tasks: Tasks) -> str:
    """What the service keeps of a task's GPU is what nvidia-smi says meanwhile."""
    task = tasks.program("hold:0.1", "busy:sampled", gpus=1)
    tasks.line(task, "holds")
    (rank,) = tasks.client.task(task).runs[0].ranks
    index = rank.gpus[0] if rank.gpus else 0
    # The first window has the start in it.
    tasks.until(task, "a window of metrics", lambda: _series(tasks, task))
    before, count = cards()[index], len(_series(tasks, task))
    tasks.until(task, "the next window", lambda: len(_series(tasks, task)) > count)
    values, after = _series(tasks, task)[-1], cards()[index]
    told, wrong = compare(before, values, after)
    assert not wrong, "; ".join(wrong)
    assert values["use"] >= 50, f"the task computes, and its use is {values['use']} %"
    return f"a mean of ten seconds, in brackets nvidia-smi's: {told}"


def idle(tasks: Tasks) -> str:
    """I1: GPUs that nobody uses give their task a badge, which goes when they work."""
    client = tasks.client
    client.set_policy({"idle_after": "1m"})
    task = tasks.program("wait:open", "hold:0.1", "busy:still", "wait:idle", gpus=1)
    since = tasks.until(task, "the badge of idle GPUs", lambda: client.task(task).idle_gpus_since, 150)
    started = client.task(task).runs[0].started_at
    assert since is not None
    tasks.let("open")
    tasks.until(task, "the badge to go", lambda: client.task(task).idle_gpus_since is None)
    tasks.let("still")
    count = len(_series(tasks, task))
    tasks.until(task, "windows without work", lambda: len(_series(tasks, task)) >= count + 3)
    quiet = _series(tasks, task)[-1]
    limit = float(next(one.default for one in client.policy().numbers if one.name == "idle_power"))
    share = quiet["power"] / quiet["power_limit"]
    found = "idle too" if share < limit else f"not idle to HAI unless idle_power is above {share:.2f}"
    return (
        f"idle since {(since - started).total_seconds():.0f} s after the start, and no longer when it computed; with a"
        f" process that computes nothing {quiet['power']:.0f} of {quiet['power_limit']:.0f} W ({share:.2f}), {found}"
        f" (idle_power {limit:g})"
    )


def freed(tasks: Tasks, known: list[dict[str, str]]) -> str:
    """The memory of a task that left is free before the next rank begins, when it goes and when it comes back."""
    total, used = float(known[0]["memory.total"]), float(cards()[0]["memory.used"])
    task = tasks.program("say", f"hold:{MOST}", "busy:freed", profile="kill")
    tasks.line(task, "holds")
    urgent = tasks.program("say", f"hold:{MOST}", "wait:urgent", profile="kill", priority="VERY_HIGH")
    tasks.line(urgent, "holds")
    tasks.let("urgent")
    tasks.line(task, "holds", run=2)
    tasks.let("freed")
    first, second = tasks.over(task).runs
    (between,) = tasks.client.task(urgent).runs
    before = [_seen(tasks, which, run)["before"][0] / MIB for which, run in ((urgent, 1), (task, 2))]
    told = ", ".join(f"{mib:.0f} MiB" for mib in before)
    assert max(before) <= used + 0.02 * total, f"in use when the next rank began: {told}; before all: {used:.0f} MiB"
    gaps = [(between.running_at, first.ended_at), (second.running_at, between.ended_at)]
    took = ", ".join(f"{(later - sooner).total_seconds():.1f} s" for later, sooner in gaps if later and sooner)
    return f"of {MOST * total:.0f} MiB in use at the next rank's first line: {told}; from run to run {took}"


def _seen(tasks: Tasks, task: int, run: int | None = None) -> dict[str, Any]:
    seen: dict[str, Any] = json.loads(tasks.line(task, "sees {", run).partition("sees ")[2])
    return seen


def _series(tasks: Tasks, task: int) -> list[dict[str, float]]:
    """The windows of ten seconds of a task's first GPU, the means by their names without the GPU's."""
    ranks = [rank for run in tasks.client.metrics(task, step=10).runs for rank in run.ranks]
    own = {name[5:]: values for rank in ranks for name, values in rank.mean.items() if name.startswith("gpu0_")}
    count = len(ranks[0].at) if ranks else 0
    return [{name: value for name, each in own.items() if (value := each[index]) is not None} for index in range(count)]
