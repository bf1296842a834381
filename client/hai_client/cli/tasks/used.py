"""What runs used, in a line of words for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

from hai_client.cli.language.catalogue import label, say, say_in
from hai_client.cli.language.words import duration, gpus
from hai_client.quantity import format_bytes
from hai_client.wire.schema import Run, RunSummary, UsageLevel


def lines(runs: tuple[Run, ...]) -> Iterator[tuple[str, str]]:
    """Yield a label and a line for each run of which it is known what it used."""
    for run in runs:
        if run.summary is not None:
            yield label("Run %1 used", run.number), sentence(run.summary)


def sentence(used: RunSummary) -> str:
    """Return what a run used: means of a rank and of a GPU, with the greatest values in brackets."""
    parts = [
        _level(used.cpu, lambda value: say("%1 cores", f"{value:.1f}"), lambda value: f"{value:.1f}"),
        _level(used.memory, lambda value: say("%1 of memory", _bytes(value)), _bytes),
        *(_of_gpus(used) if used.gpus else ()),
    ]
    return ", ".join(part for part in parts if part)


def _of_gpus(used: RunSummary) -> Iterator[str]:
    share = "{:.0f}%".format
    yield _level(used.gpu_use, lambda value: say_in("use of GPUs", "%1 of %2", share(value), gpus(used.gpus)), share)
    yield _level(used.gpu_memory, lambda value: say("%1 of GPU memory", _bytes(value)), _bytes)
    yield _level(used.gpu_power, lambda value: say("%1 W by GPU", f"{value:.0f}"), "{:.0f}".format)
    if used.gpu_idle_seconds:
        yield say("idle for %1 of %2 of GPU time", duration(used.gpu_idle_seconds), duration(used.gpu_seconds))
    elif used.gpu_seconds:
        yield say("all of %1 of GPU time busy", duration(used.gpu_seconds))
    if used.joules:
        yield f"{used.joules / 3.6e6:.3g} kWh"


def _level(level: UsageLevel | None, mean: Callable[[float], str], peak: Callable[[float], str]) -> str:
    return "" if level is None else say("%1 (peak %2)", mean(level.mean), peak(level.peak))


def _bytes(value: float) -> str:
    return format_bytes(Decimal(round(value)))
