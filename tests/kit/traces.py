"""Traces like those of PyTorch's profiler, made by tests."""

from __future__ import annotations

import gzip
import json
from typing import Any


def event(
    name: str, start: float, length: float, *, cat: str = "cpu_op", tid: object = 1, **args: Any
) -> dict[str, Any]:
    """An event; times are microseconds."""
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": 9,
        "tid": tid,
        "ts": start,
        "dur": length,
        "args": {"External id": 1, **args},
    }


def step(
    at: float, *, data: float = 1000, wait: float = 0, forward: float = 3000, talk: float = 0
) -> list[dict[str, Any]]:
    """One step of a training on a processor, which begins at `at`.

    Data, forward, 4 ms backward, communication that nothing hides, 1 ms optimizer, and `wait` of nothing.
    """
    note = "user_annotation"
    begin = at + wait
    back = begin + data + forward
    over = back + 4000
    events = [
        event("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, data, cat=note),
        event("aten::stack", begin + 10, data - 20),
        event("aten::linear", begin + data, forward),
        event("aten::addmm", begin + data + 100, forward - 200),
        event("autograd::engine::evaluate_function: AddmmBackward0", back, 4000),
        event("aten::mm", back + 50, 3900),
        event("Optimizer.step#SGD.step", over + talk, 1000, cat=note),
        event("aten::add_", over + talk + 10, 900),
    ]
    if talk:
        # It begins while backward still computes: that part costs nothing.
        events.append(event("gloo:all_reduce", back + 2000, 2000 + talk, cat=note, tid=7))
    return events


def steps(count: int, **lengths: float) -> list[dict[str, Any]]:
    """Steps one after the other, from 0 on."""
    length = sum({"data": 1000, "wait": 0, "forward": 3000, "talk": 0, **lengths}.values()) + 5000
    return [one for number in range(count) for one in step(number * length, **lengths)]


def packed(events: list[Any], *, rank: int | None = None, world: int = 2) -> bytes:
    """A trace as a rank sends it."""
    head: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": []}
    if rank is not None:
        head["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": world}
    return gzip.compress(json.dumps({**head, "traceEvents": events, "traceName": "/t/trace.json"}, indent=1).encode())
