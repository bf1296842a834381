"""`hai logs`: show, follow or search what a task prints."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.parser import Command, option
from hai_client.cli.tasks import failing
from hai_client.cli.tasks.follow import how_it_stands, once_an_outage, say_why_silent, show
from hai_client.constants import ENDED_STATES
from hai_client.errors import Invalid
from hai_client.wire.schema import LogLine

#: The word for all ranks, in place of a number.
ALL = "all"


def _configure(parser: argparse.ArgumentParser) -> None:
    words_.add_tasks(parser)
    option(parser, "-f, --follow", "go on as it prints, until it ends")
    option(parser, "-r, --rank RANK|all", "rank (0), or all ranks by time", words_.rank_or_all)
    option(parser, "--run N", "only of this run; else all, as one story", words_.count("run"))
    option(parser, "--tail N", "only the last N lines", words_.count("tail"))
    option(parser, "-t, --times", "show the time of each line, in the zone of this machine")
    option(parser, "--raw", "print control sequences of the task, too, such as titles (colours alone)")
    option(parser, "--search TEXT", "find a text in all ranks and runs")


def _logs(args: argparse.Namespace, ctx: Context) -> int:
    if args.search is not None:
        return _search(args, ctx)
    if args.rank == ALL:
        return _all_ranks(args, ctx)
    if args.follow:
        return _follow(args, ctx)
    lines = ctx.client.logs(args.task, rank=args.rank or 0, run=args.run, tail=args.tail)
    show(ctx, lines, times=args.times, raw=args.raw)
    if args.rank is None and not ctx.json:
        failing.after_log(ctx, ctx.client.task(args.task), run=args.run)
    return 0


def _follow(args: argparse.Namespace, ctx: Context) -> int:
    # Use the id from here on: another task of the same name may be submitted meanwhile.
    task = ctx.client.task(args.task)
    say_why_silent(ctx, task)
    show(ctx, _followed(args, ctx, task.id), times=args.times, raw=args.raw, at_once=True)
    _say_how_it_ended(ctx, task.id, rank=args.rank, run=args.run)
    return 0


def _followed(args: argparse.Namespace, ctx: Context, task: int) -> Iterator[LogLine]:
    cursor, rank = None, args.rank or 0
    if args.tail is not None:
        page = ctx.client.log_page(task, rank=rank, run=args.run, tail=args.tail)
        yield from page.lines
        cursor = page.next_cursor
    yield from ctx.client.follow_logs(task, rank=rank, run=args.run, cursor=cursor, lost=once_an_outage(ctx))


def _all_ranks(args: argparse.Namespace, ctx: Context) -> int:
    task = ctx.client.task(args.task)
    if args.follow:
        say_why_silent(ctx, task)
    lines = ctx.client.merged_logs(
        task.id, task.nodes, run=args.run, tail=args.tail, follow=args.follow, lost=once_an_outage(ctx)
    )
    show(ctx, lines, times=args.times, raw=args.raw, at_once=args.follow, ranks=task.nodes)
    if args.follow:
        _say_how_it_ended(ctx, task.id, rank=0, run=args.run)
    return 0


def _say_how_it_ended(ctx: Context, task_id: int, *, rank: int | None, run: int | None) -> None:
    if ctx.json:
        return
    end = ctx.client.task(task_id)
    failing.after_log(ctx, end, rank=rank, run=run)
    if ctx.out.watched and end.state in ENDED_STATES:
        ctx.out.note(how_it_stands(end))


def _search(args: argparse.Namespace, ctx: Context) -> int:
    if args.follow or args.tail is not None or not args.search:
        raise Invalid("search: give a text, and neither --follow nor --tail; it looks through everything")
    hits = ctx.client.search_logs(args.task, args.search)
    if ctx.answered(hits):
        return 0
    if not hits.complete:
        ctx.out.note("the log is so long that only a part of it was searched")
    total = sum(count.hits for count in hits.counts)
    if not total:
        ctx.out.line(f"{args.search!r} is nowhere in the logs" if hits.complete else f"{args.search!r} was not found")
        return 0
    ctx.out.table(
        ">RUN  >RANK  >HITS",
        [[str(count.run), str(count.rank), str(count.hits)] for count in hits.counts if count.hits],
    )
    ctx.out.line()
    rows = [[str(line.run), "-" if line.rank is None else str(line.rank), line.text] for line in hits.lines]
    ctx.out.table(">RUN  >RANK  LINE", rows)
    if total > len(hits.lines):
        ctx.out.note(f"shown are the first {len(hits.lines)} of {total} lines")
    return 0


COMMANDS = {
    "logs": Command(
        "logs",
        _configure,
        _logs,
        about="Show what a task prints. Ctrl-C ends following; the task goes on.",
        examples=(
            "examples:\n  hai logs -f digits\n  hai logs --tail 100 -r 1 digits\n  hai logs -f -r all digits\n"
            "  hai logs --search 'loss nan' 41"
        ),
    )
}
