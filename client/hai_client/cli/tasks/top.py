"""`hai top`: what the cluster does now, and what the ranks of a task use."""

from __future__ import annotations

import argparse
import dataclasses
import io
import shutil
import time
from datetime import datetime, timedelta

from hai_client.backports import UTC, dataclass
from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Output
from hai_client.cli.shared.parser import Command, option
from hai_client.cli.tasks import top_cluster
from hai_client.errors import Invalid
from hai_client.wire.metrics import RankSeries, TaskSeries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: How often the screen is written again, seconds: a window of samples.
EVERY_S = 10
#: How far back the newest point may be, seconds: large clusters send every some minutes.
RECENT_S = 300


@dataclass(frozen=True, slots=True)
class RankUse:
    """What one rank, or all ranks of a task together, used at the newest point."""

    values: dict[str, float]  #: The mean of each metric.

    def of_gpus(self, name: str) -> list[float]:
        """Return a metric of each GPU."""
        return [value for key, value in self.values.items() if key.startswith("gpu") and key.endswith(f"_{name}")]


def _configure(parser: argparse.ArgumentParser) -> None:
    option(parser, "task TASK", "show the ranks of this task (default: the whole cluster)", nargs="?")
    option(parser, "--mine", "only your own tasks")
    option(
        parser,
        "--sort",
        "column to sort by, greatest first (default: yours first, then by nodes)",
        choices=sorted(top_cluster.ORDERS),
    )
    option(parser, "-n, --limit N", "at most N tasks (default: what the screen holds)", words_.count("limit"))
    option(parser, "--once", "print one table and end, as to a file or a pipe")


def _top(args: argparse.Namespace, ctx: Context) -> None:
    if args.task:
        for name in ("mine", "sort", "limit"):
            if getattr(args, name):
                raise Invalid(f"{name}: is for the whole cluster; leave it out, or TASK")
    if ctx.json:
        ctx.out.json(_series_of(ctx, args.task) if args.task else top_cluster.answer(ctx.client, mine=args.mine))
        return
    live = ctx.out.terminal and not args.once
    try:
        while True:
            screen = _screen(args, ctx, live=live)
            # To the first line, and an empty screen, when the answer is there: nothing flickers.
            ctx.out.stdout.write(("\x1b[H\x1b[2J" if live else "") + screen)
            ctx.out.stdout.flush()
            if not live:
                return
            time.sleep(EVERY_S)
    except KeyboardInterrupt:
        if live:
            # That is how one leaves it.
            return
        raise


def _screen(args: argparse.Namespace, ctx: Context, *, live: bool) -> str:
    """Return the screen as text, for the present size of the terminal."""
    size = shutil.get_terminal_size()
    text = io.StringIO()
    out = dataclasses.replace(ctx.out, stdout=text, width=max(40, size.columns) if ctx.out.width is not None else None)
    if args.task:
        _of_ranks(ctx, out, args.task)
    else:
        rows = args.limit or (max(1, size.lines - top_cluster.AROUND) if live else None)
        top_cluster.write(out, ctx.client, mine=args.mine, order=args.sort, rows=rows)
    if live:
        out.line(f"\nevery {EVERY_S} s; Ctrl-C ends it")
    return text.getvalue()


def _series_of(ctx: Context, task: str | int) -> TaskSeries:
    since = datetime.now(UTC) - timedelta(seconds=RECENT_S)
    return ctx.client.metrics(task, since=since, step=EVERY_S)


def _of_ranks(ctx: Context, out: Output, name: str) -> None:
    series = _series_of(ctx, name)
    found = newest(series)
    if not found:
        task = ctx.client.task(name)
        out.line(why_nothing(name, task.state, task.run_count))
        return
    nodes = {rank.rank: rank.node for rank in series.runs[-1].ranks}
    rows = [[str(rank), Cell(nodes[rank], "bold"), *_cells([usage])] for rank, usage in found.items()]
    out.table(f">RANK  NODE  {_COLUMNS}", rows)
    _by_gpu(out, found)


def why_nothing(name: str, state: str, runs: int) -> str:
    """Return why nothing is shown of a task that has no newest point, and what to type.

    Args:
        name: What the user called the task.
        state: Its state.
        runs: How often it has been started.
    """
    if not runs:
        return f"{name} is {state} and has never run; `hai explain {name}` says why"
    nothing = f"{name} is {state}, and nothing was measured in the last {RECENT_S // 60} minutes"
    if state == "running":
        return f"{nothing}; after a start the first numbers take some {2 * EVERY_S} s"
    return f"{nothing}; see `hai status {name}`"


def _by_gpu(out: Output, found: dict[int, RankUse]) -> None:
    """Write the GPUs of each rank that has more than one."""
    for rank, usage in found.items():
        uses = usage.of_gpus("use")
        if len(uses) > 1:
            out.line(f"rank {rank}: GPUs " + " ".join(f"{use:.0f}%" for use in uses))


def newest(series: TaskSeries) -> dict[int, RankUse]:
    """Return the newest usage of each rank of the latest run."""
    ranks = series.runs[-1].ranks if series.runs else ()
    return {rank.rank: RankUse(_last(rank)) for rank in ranks if rank.at}


def _last(rank: RankSeries) -> dict[str, float]:
    return {name: mean for name, means in rank.mean.items() if (mean := means[-1]) is not None}


_COLUMNS = ">CORES  >MEMORY  >DISK R/W?  >NET IN/OUT?  >GPU  >GPU MEMORY  >WATTS"


def _cells(usages: Sequence[RankUse]) -> list[Cell | str]:
    """Return the cells of some ranks together: sums, and of GPUs the mean use."""
    uses = [use for usage in usages for use in usage.of_gpus("use")]
    mean = sum(uses) / len(uses) if uses else None
    return [
        _sum(usages, "cpu", lambda value: f"{value:.1f}"),
        _sum(usages, "memory", top_cluster.in_bytes),
        _pair(usages, "disk_read", "disk_written"),
        _pair(usages, "net_received", "net_sent"),
        "-" if mean is None else Cell(f"{mean:.0f}%", "red" if mean < top_cluster.IDLE_BELOW else None),
        _total([value for usage in usages for value in usage.of_gpus("memory")], top_cluster.in_bytes),
        _total([value for usage in usages for value in usage.of_gpus("power")], lambda value: f"{value:.0f}"),
    ]


def _sum(usages: Sequence[RankUse], name: str, form: Callable[[float], str]) -> str:
    return _total([usage.values[name] for usage in usages if name in usage.values], form)


def _total(values: Sequence[float], form: Callable[[float], str]) -> str:
    return form(sum(values)) if values else "-"


def _pair(usages: Sequence[RankUse], one: str, other: str) -> str:
    first, second = _sum(usages, one, top_cluster.in_bytes), _sum(usages, other, top_cluster.in_bytes)
    return "-" if first == second == "-" else f"{first}/{second}"


COMMANDS = {
    "top": Command(
        "top", _configure, _top, about="Show the cluster live: its nodes, the tasks on them, and what yours use."
    )
}
