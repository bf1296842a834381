"""What runs used, in a line of words for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

from hai_client.cli.shared.output import plural
from hai_client.durations import format_duration
from hai_client.quantity import format_bytes
from hai_client.wire.schema import Run, RunSummary, UsageLevel


def lines(runs: tuple[Run, ...]) -> Iterator[tuple[str, str]]:
    """Yield a label and a line for each run of which it is known what it used."""
    for run in runs:
        if run.summary is not None:
            yield f"run {run.number} used", sentence(run.summary)


def sentence(used: RunSummary) -> str:
    """Return what a run used: means of a rank and of a GPU, with the greatest values in brackets."""
    parts = [
        _level(used.cpu, lambda value: f"{value:.1f}", " cores"),
        _level(used.memory, _bytes, " of memory"),
        *(_of_gpus(used) if used.gpus else ()),
    ]
    return ", ".join(part for part in parts if part)


def _of_gpus(used: RunSummary) -> Iterator[str]:
    yield _level(used.gpu_use, lambda value: f"{value:.0f}%", f" of {plural(used.gpus, 'GPU')}")
    yield _level(used.gpu_memory, _bytes, " of GPU memory")
    yield _level(used.gpu_power, lambda value: f"{value:.0f}", " W by GPU")
    if used.gpu_seconds:
        idle = f"idle for {format_duration(used.gpu_idle_seconds)} of " if used.gpu_idle_seconds else "all of "
        yield f"{idle}{format_duration(used.gpu_seconds)} of GPU time{'' if used.gpu_idle_seconds else ' busy'}"
    if used.joules:
        yield f"{used.joules / 3.6e6:.3g} kWh"


def _level(level: UsageLevel | None, form: Callable[[float], str], unit: str) -> str:
    return "" if level is None else f"{form(level.mean)}{unit} (peak {form(level.peak)})"


def _bytes(value: float) -> str:
    return format_bytes(Decimal(round(value)))
