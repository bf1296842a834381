"""`hai sim compare`."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from hai_client.cli.shared.context import Context
from hai_client.errors import Invalid
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.words import nodes as count_of
from hai_scheduler.sim import report
from hai_scheduler.sim.curves import SUFFIXES, Curves, curves_of
from hai_scheduler.sim.figures import rows_of
from hai_scheduler.sim_cli.running import require_place, show, simulated, write_whole
from hai_scheduler.sim_cli.settings import Study, rules_of, study_of


def run(args: argparse.Namespace, context: Context) -> int:
    """Simulate several sets of rules, one after the other, and print their figures. Returns the exit status."""
    drawing = _ready_to_draw(args)
    several = [rules_of(entry, args.numbers) for entry in args.policies]
    study = study_of(args)
    curves: list[Curves] = []
    summaries: list[dict[str, Any]] = []
    for rules in several:
        outcome, summary = simulated(study, rules, args, context)
        curves.append(curves_of(rules.name, outcome))
        summaries.append(summary)
    if drawing is not None:
        _draw(drawing, args, study, curves, summaries)
    if context.json:
        context.out.json({"assumptions": list(study.assumptions), "policies": summaries})
    else:
        show(summaries, study.assumptions, context.out)
    return 0


def _ready_to_draw(args: argparse.Namespace) -> ModuleType | None:
    """Return the drawing module if a picture is wanted; raise Invalid before the simulations if it cannot be made."""
    require_place("--picture", args.picture)
    require_place("--html", args.html)
    if args.picture is None and args.html is None:
        return None
    if args.picture is not None and Path(args.picture).suffix not in SUFFIXES:
        raise Invalid(f"--picture: {args.picture!r} must end with {', '.join(SUFFIXES)}")
    try:
        return importlib.import_module("hai_scheduler.sim.picture")
    except ModuleNotFoundError as error:
        raise Invalid(
            f"--picture, --html: need the package {error.name!r}, which is not installed here; "
            "run: pip install 'hai-platform[sim]'"
        ) from None


def _draw(
    drawing: ModuleType,
    args: argparse.Namespace,
    study: Study,
    curves: Sequence[Curves],
    summaries: Sequence[dict[str, Any]],
) -> None:
    title = f"{Path(study.trace.file).name} on {count_of(ENGLISH, args.nodes)}"
    figure = drawing.draw(curves, title)
    if args.picture is not None:
        write_whole("--picture", args.picture, lambda path: drawing.save(figure, path))
    if args.html is not None:
        names = [curve.name for curve in curves]
        page = report.page(title, names, rows_of(summaries), drawing.as_svg(figure), study.assumptions)

        def write(path: Path) -> None:
            path.write_text(page, encoding="utf-8")

        write_whole("--html", args.html, write)
