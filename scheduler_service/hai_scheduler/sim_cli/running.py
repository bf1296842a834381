"""Runs simulations for a verb, with progress on stderr, prints their figures, and writes files whole or not at all."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Column, Output
from hai_client.errors import Invalid
from hai_client.whole_files import drafted
from hai_scheduler.sim.figures import Summary, rows_of
from hai_scheduler.sim.simulate import SimulationOutcome, simulate
from hai_scheduler.sim.summary import summarize
from hai_scheduler.sim_cli.progress import Ticker
from hai_scheduler.sim_cli.settings import NamedDiscipline, Study


def simulated(
    study: Study, rules: NamedDiscipline, args: argparse.Namespace, context: Context
) -> tuple[SimulationOutcome, dict[str, Any]]:
    """Simulate, and return the outcome and its summary, under the name that the user gave the rules."""
    ticker = None
    if args.progress or context.out.watched:
        ticker = Ticker(rules.name, context.out.stderr, terminal=context.out.watched)
    outcome = simulate(rules.on(study.setting), study.jobs, ticker)
    if ticker is not None:
        ticker.close()
    return outcome, summarize(outcome) | {"policy": rules.name}


def require_place(option: str, path: str | None) -> None:
    """Raise Invalid if a file could not be written there, before the simulation begins. None is no file."""
    if path is None:
        return
    folder = Path(path).parent
    if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise Invalid(f"{option}: {path!r} cannot be written; name a file in a folder that is there and yours")


def write_whole(option: str, path: str, write: Callable[[Path], None]) -> None:
    """Write a file under a temporary name, then rename it. Raises Invalid."""
    try:
        with drafted(Path(path)) as draft:
            write(draft)
    except OSError as error:
        raise Invalid(f"{option}: {path!r} cannot be written: {error.strerror or error}; name another file") from None


def write_lines(lines: Iterable[str], path: str | None, context: Context) -> None:
    """Write the lines to the file, whole or not at all, or print them."""
    if path is None:
        for line in lines:
            context.out.line(line)
        return

    def write(target: Path) -> None:
        with target.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)

    write_whole("--output", path, write)


def show(summaries: Sequence[Summary], assumptions: Sequence[str], out: Output) -> None:
    """Print a table with a column for each summary, then the assumptions."""
    columns = [Column("FIGURE"), *(Column(str(summary["policy"]), right=True) for summary in summaries)]
    out.table(columns, [[row.title, *row.cells] for row in rows_of(summaries)])
    out.line()
    for note in assumptions:
        out.line(f"- {note}")
