"""Shows log lines, once or as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hai_client.backports import without_prefix
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import local_times
from hai_client.cli.tasks import failing
from hai_client.constants import ENDED_STATES
from hai_client.errors import Unavailable
from hai_client.merged_logs import replaces
from hai_client.wire.schema import LogLine, Task, TaskSummary


def show(
    ctx: Context,
    lines: Iterable[LogLine],
    *,
    times: bool = False,
    at_once: bool = False,
    raw: bool = False,
    ranks: int | None = None,
) -> None:
    """Write log lines as they were printed, with the platform's own lines in another style.

    Control sequences are removed for a terminal, unless `raw` is set. Of a line that is being written again, such as a
    progress bar, the last state is written; a terminal shows the states before it to a reader who waits.

    Args:
        ctx: The command's context, with its output.
        lines: The lines.
        times: Whether to write the time of each line.
        at_once: Whether to flush after each line, for a reader who waits for it.
        raw: Whether to keep control sequences for a terminal.
        ranks: Number of ranks that the lines are of; each line then begins with its rank, as with `srun --label`.
    """
    width = None if ranks is None else len(str(max(0, ranks - 1)))
    drawn = at_once and ctx.out.terminal and not ctx.json
    state: LogLine | None = None
    try:
        for line in lines:
            if state is not None:
                if drawn:
                    ctx.out.clear_state()
                if not replaces(line, state):
                    _write(ctx, state, times, raw, width)
                state = None
            if line.rewritten:
                state = line
                if drawn:
                    ctx.out.state(line.text, before=_before(ctx, line, times, width))
                continue
            _write(ctx, line, times, raw, width)
            if at_once:
                ctx.out.stdout.flush()
    finally:
        if state is not None:
            if drawn:
                ctx.out.clear_state()
            _write(ctx, state, times, raw, width)


def _write(ctx: Context, line: LogLine, times: bool, raw: bool, width: int | None) -> None:
    if ctx.json:
        ctx.out.json(line, compact=True)
    elif line.rank is None:
        said = ctx.out.style(f"[hai] {without_prefix(line.text, '[hai] ')}", "dim")
        ctx.out.line(_before(ctx, line, times, None) + said)
    else:
        ctx.out.printed(line.text, before=_before(ctx, line, times, width), raw=raw)


def _before(ctx: Context, line: LogLine, times: bool, width: int | None) -> str:
    """Return what stands before a line: its time, with the zone of this machine, and its rank."""
    stamp = ""
    if times:
        at = None if line.at is None else line.at.astimezone()
        stamp = " " * 28 if at is None else f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d}{at:%z}"
        stamp = ctx.out.style(stamp, "dim") + "  "
    return stamp + ("" if width is None or line.rank is None else ctx.out.style(f"{line.rank:{width}d}: ", "dim"))


def once_an_outage(ctx: Context) -> Callable[[Unavailable], None]:
    """Tell the user, once, that the connection is lost."""
    told = False

    def lost(problem: Unavailable) -> None:
        nonlocal told
        if ctx.out.watched and not told:
            told = True
            ctx.out.note(f"{problem.message.partition(';')[0]}; trying to read on")

    return lost


def say_why_silent(ctx: Context, task: TaskSummary) -> None:
    """Tell a user who sees no lines yet what the command waits for."""
    if not ctx.out.watched or ctx.json or task.state not in ("queued", "suspended"):
        return
    why = local_times(task.message).rstrip(".。")
    ctx.out.note(f"{task.name} is {task.state}: {why or 'it waits'} (Ctrl-C leaves; the task stays)")


def follow_to_end(ctx: Context, task: TaskSummary, *, quiet: bool = False) -> int:
    """Show the output of a task until the task ends.

    Returns:
        0 if the task succeeded, else 1.
    """
    if not quiet:
        say_why_silent(ctx, task)
    lines = ctx.client.follow_logs(task.id, lost=once_an_outage(ctx))
    if quiet:
        for _ in lines:
            pass
    else:
        show(ctx, lines, at_once=True)
    end = ctx.client.task(task.id)
    if end.state == "succeeded":
        return 0
    if not quiet:
        failing.after_log(ctx, end)
    ctx.out.note(how_it_stands(end))
    return 1


def how_it_stands(task: Task) -> str:
    """Return for example `digits failed: its command ended (rank 0 with status 1).` or `digits is suspended`."""
    how = f"{task.name} {task.state}" if task.state in ENDED_STATES else f"{task.name} is {task.state}"
    # The service's sentence on the end of a task begins with the state, too.
    why = without_prefix(local_times(task.message), f"{task.state.capitalize()}: ")
    return f"{how}: {why}" if why else how
