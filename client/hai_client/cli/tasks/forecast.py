"""`hai decisions` and `hai forecast`: the decisions on a task, and when a task would start."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from hai_client.cli.language.catalogue import heading, is_english, label, say
from hai_client.cli.language.words import duration, size, state_word
from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Column, Output, local, local_times
from hai_client.cli.shared.parser import Command, option
from hai_client.cli.tasks import view
from hai_client.constants import EventKind
from hai_client.errors import Invalid
from hai_client.wire.explain import Decision, Forecast, ForecastCost
from hai_client.wire.schema import TaskRequest

_PAGE = 1000


def _configure_decisions(parser: argparse.ArgumentParser) -> None:
    words_.add_tasks(parser)
    option(parser, "-n, --limit N", "only the latest N", words_.count("limit"))


def _decisions(args: argparse.Namespace, ctx: Context) -> None:
    found = list(_all(ctx, args.task))
    shown = found if args.limit is None else found[-args.limit :]
    if not ctx.listed(shown, say("nothing was decided on it yet")):
        columns = [Column(heading("Time")), Column(heading("What")), Column(heading("Why"), whole=True)]
        ctx.out.table(columns, [[local(one.at), word(one), local_times(one.sentence, now=one.at)] for one in shown])


def _all(ctx: Context, task: str) -> Iterator[Decision]:
    after: int | None = None
    while page := ctx.client.decisions(task, after=after, limit=_PAGE):
        yield from page
        after = page[-1].seq
        if len(page) < _PAGE:
            return


def word(decision: Decision) -> str:
    """Return the kind of a decision: the kind of a verdict, a state, or the thing that was changed."""
    data = decision.data
    shown = {
        EventKind.TASK_VERDICT: data.get("kind"),
        EventKind.TASK_STATE: state_word(str(data["to"])) if data.get("to") else None,
        EventKind.RUN_NOTICE: say("told to leave"),
    }
    return str(shown.get(decision.kind) or decision.kind.rpartition(".")[2])


def _configure_forecast(parser: argparse.ArgumentParser) -> None:
    words_.add_tasks(parser)
    option(parser, "--horizon TIME", "how far ahead to look (7d)", words_.duration("horizon", least_s=1))


def _forecast(args: argparse.Namespace, ctx: Context) -> int:
    found = ctx.client.forecast(args.task, horizon_s=args.horizon)
    return _show(ctx, say("task %1", found.task_id) if found.task_id is not None else args.task, found)


def dry_run(ctx: Context, request: TaskRequest, *, follow: bool) -> int:
    """Check a request like a submission, and show when it would start.

    Raises:
        Invalid: `follow` is set too.
    """
    if follow:
        raise Invalid("follow: nothing is submitted by --dry-run, so there is nothing to follow; leave one of them out")
    return _show(ctx, request.name, ctx.client.forecast(request))


def _show(ctx: Context, name: str, found: Forecast) -> int:
    if ctx.answered(found):
        return 0
    _screen(ctx.out, name, found)
    return 0


def _screen(out: Output, name: str, found: Forecast) -> None:
    sentence = local_times(found.sentence, now=found.at)
    if is_english():
        sentence = sentence[:1].lower() + sentence[1:]
    view.write_sentence(out, say("%1: %2", name, sentence))
    view.facts(out, _facts(found))


def _facts(found: Forecast) -> Iterator[tuple[str, str]]:
    if found.starts_at is not None and found.starts_in_s:
        yield label("Starts"), f"{local(found.starts_at)} ({say('in %1', duration(found.starts_in_s))})"
    for cost in found.suspends:
        yield label("Would leave"), _cost(cost)
    if found.suspends:
        yield label("Cost"), say("%1 of node time at most", duration(found.cost_s))
    if found.verdict is not None and found.outcome != "running":
        yield label("Waits now"), local_times(found.verdict.sentence, now=found.at)
        if found.verdict.position is not None:
            yield label("Position"), str(found.verdict.position)
    for assumption in found.assumptions:
        yield label("Assumed"), local_times(assumption.sentence, now=found.at)


def _cost(cost: ForecastCost) -> str:
    lost = say("%1 of node time since it last saved", duration(cost.unsaved_s))
    switch = say(", %1 to leave and come back", duration(cost.switch_s)) if cost.switch_s >= 1 else ""
    whom = say("%1, %2", view.holder(cost), size(cost.nodes, cost.gpus))
    return say("%1: %2", whom, lost + switch)


COMMANDS = {
    "decisions": Command(
        "decisions",
        _configure_decisions,
        _decisions,
        about="Show what was decided on a task, and why: what it waited for and when that changed, starts, notices.",
    ),
    "forecast": Command(
        "forecast",
        _configure_forecast,
        _forecast,
        about=(
            "Say when a waiting task would start if nothing unforeseen happens, who would make room, and what is\n"
            "assumed. `hai submit --dry-run` says the same of a task before it is submitted."
        ),
        examples="examples:\n  hai forecast digits\n  hai forecast digits --horizon 30d",
    ),
}
