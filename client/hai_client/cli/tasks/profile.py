"""`hai profile`: records what a running task does, and says where the time of a step goes."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from hai_client.backports import UTC
from hai_client.cli.shared import parser as words
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Column, Output, clean, local, plural, titled
from hai_client.cli.shared.parser import Command, option
from hai_client.cli.tasks.ranked import with_rank
from hai_client.durations import parse_duration
from hai_client.errors import Conflict, HaiError, Invalid
from hai_client.quantity import format_bytes
from hai_client.wire.profiles import Phases, Recording, RecordingPart, RecordingSummary

#: How often the platform is asked whether the recording has ended, seconds.
ASK_EVERY_S = 0.5
#: How long after the last moment for answers the command still waits, seconds.
SLACK_S = 15.0
#: Operators that are shown, and the width of a bar.
SHOWN = 10
BAR = 30
#: The part of a step from which on a phase is worth a word.
MUCH = 0.2
_PHASES = ("data", "forward", "backward", "optimizer", "communication", "idle")
_HINTS = {
    "data": "the step waits for data: more workers of the DataLoader (num_workers), or less work for each sample",
    "communication": "the step waits for other ranks: look at the slowest rank, larger batches, or fewer nodes",
    "idle": "nothing of PyTorch runs in that time: other Python code, files, or prints in the loop",
}
PERFETTO = "https://ui.perfetto.dev"


def _configure(parser: argparse.ArgumentParser) -> None:
    option(parser, "task TASK", "the id or name of a running task")
    what = parser.add_mutually_exclusive_group()
    option(what, "--seconds TIME", "the length of the trace, at most 60s (default: 5s)")
    option(what, "--steps N", "the length in steps of the optimizer", words.count("steps"))
    option(what, "--py", "show the Python stacks of all processes instead of a trace")
    option(what, "--list", "list the recordings of the task")
    option(what, "--show N", "show recording N again", words.count("show"))
    option(what, "--delete N", "delete recording N", words.count("delete"))
    option(parser, "--ranks N,N", "only these ranks (default: all, or 16 of a larger gang)")
    option(parser, "--memory", "record allocations of memory too")
    option(parser, "-o, --output, --save FOLDER", "the folder for the traces (default: hai-profiles/TASK-N)")


def _run(args: argparse.Namespace, ctx: Context) -> int:
    if args.list:
        return _list(args, ctx)
    if args.delete is not None:
        ctx.client.delete_profile(args.task, args.delete)
        ctx.out.line(f"recording {args.delete} is deleted")
        return 0
    begun = _ordered(args, ctx) if args.show is None else ctx.client.profile_of(args.task, args.show)
    found = _wait(ctx, args.task, begun)
    kept = args.show is None or args.output is not None
    folder = _folder(args, found)
    files = list(_fetched(args, ctx, found, folder)) if kept else []
    if not ctx.json:
        _show(ctx.out, found, files)
    # It takes some seconds more: what the user waits for is shown by now.
    whole = _whole(args, ctx, found, folder) if len(files) > 1 else None
    if ctx.json:
        paths = [str(path) for path, _ in files]
        ctx.out.json({"recording": found, "files": paths, "all_ranks": None if whole is None else str(whole[0])})
    elif files:
        if whole is not None:
            ctx.out.line(f"all ranks in one: {whole[0]} ({format_bytes(Decimal(whole[1]))})")
        ctx.out.line(f"open it at {PERFETTO} (it stays on your machine)")
    return 0 if found.state == "done" else 1


def _ordered(args: argparse.Namespace, ctx: Context) -> Recording:
    if args.py and args.memory:
        raise Invalid("memory: belongs to a trace; leave --memory out, or --py")
    seconds = None if args.seconds is None else parse_duration(args.seconds, field="seconds")
    found = ctx.client.profile(
        args.task,
        kind="stacks" if args.py else "trace",
        seconds=seconds,
        steps=args.steps,
        ranks=None if args.ranks is None else _ranks(args.ranks),
        memory=args.memory,
    )
    ranks = plural(len(found.parts), "rank")
    if found.kind == "stacks":
        ctx.out.note(f"reading the stacks of {ranks}")
    else:
        length = f"{found.seconds:g} s" if found.steps is None else plural(found.steps, "step")
        ctx.out.note(f"recording {length} of {ranks}, from {local(found.starts_at)[11:]} on")
    return found


def _ranks(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise Invalid(f"ranks: {text!r} is not a list of ranks; write for example 0,3") from None


def _wait(ctx: Context, task: str, found: Recording) -> Recording:
    """Return the recording when all ranks have answered."""
    while found.state == "recording":
        left = (found.ends_by - datetime.now(UTC)).total_seconds() + SLACK_S
        if left < 0:
            raise Conflict(f"recording {found.id}: it has not ended in time; `hai profile {task} --show {found.id}`")
        time.sleep(ASK_EVERY_S)
        found = ctx.client.profile_of(task, found.id)
    return found


def _folder(args: argparse.Namespace, found: Recording) -> Path:
    default = Path("hai-profiles") / f"{found.task}-{found.id}"
    return default if args.output is None else Path(args.output).expanduser()


def _fetched(args: argparse.Namespace, ctx: Context, found: Recording, folder: Path) -> Iterator[tuple[Path, int]]:
    """Fetch the traces; yields each file with its size in bytes. HTA reads such a folder as it is."""
    if not any(part.traces for part in found.parts):
        return
    places = [(part, trace) for part in found.parts for trace in part.traces]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for place, (part, trace) in enumerate(places):
            process = f"-process-{trace.number}" if len(part.traces) > 1 else ""
            path = folder / f"rank-{part.rank}{process}.json.gz"
            data = ctx.client.trace(args.task, found.id, part.rank, trace.number)
            if len(places) > 1 and trace.summary is not None and trace.summary.process_rank is None:
                data = with_rank(data, place, len(places))
            path.write_bytes(data)
            yield path, len(data)
    except OSError as error:
        raise _unwritable(args, found, folder, error) from None


def _whole(args: argparse.Namespace, ctx: Context, found: Recording, folder: Path) -> tuple[Path, int] | None:
    """Fetch the traces of all ranks as one; None: it cannot be had, which is no harm to the others.

    It lies in a folder of its own, because HTA takes each file of the folder for the trace of a rank.
    """
    try:
        data = ctx.client.all_traces(args.task, found.id)
    except HaiError as error:
        ctx.out.note(f"no trace of all ranks: {error}")
        return None
    path = folder / "all-ranks" / "trace.json.gz"
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise _unwritable(args, found, folder, error) from None
    return path, len(data)


def _unwritable(args: argparse.Namespace, found: Recording, folder: Path, error: OSError) -> HaiError:
    return HaiError(
        f"output: {folder} cannot be written ({error.strerror}); the traces are kept: "
        f"`hai profile {args.task} --show {found.id} -o FOLDER`"
    )


def _list(args: argparse.Namespace, ctx: Context) -> int:
    found = ctx.client.profiles(args.task)
    if ctx.listed(found, f"{args.task} was not recorded yet: `hai profile {args.task}` does it"):
        return 0
    rows = []
    for one in found:
        length = f"{one.seconds:g} s" if one.steps is None else plural(one.steps, "step")
        what = "stacks" if one.kind == "stacks" else f"trace of {length}"
        rows.append([str(one.id), local(one.at), str(one.run), what, one.state, format_bytes(Decimal(one.size))])
    ctx.out.table(">N  AT  >RUN  WHAT  STATE  >SIZE", rows)
    return 0


def _show(out: Output, found: Recording, files: list[tuple[Path, int]]) -> None:
    for part in found.parts:
        if part.message:
            out.note(f"rank {part.rank}: {clean(part.message)}")
        _stacks(out, part)
    if found.summary is not None:
        _summary(out, found, found.summary)
    for part in found.parts:
        for trace in part.traces:
            for note in [trace.fault] if trace.fault else trace.summary.notes if trace.summary else ():
                out.note(f"rank {part.rank}, process {trace.pid}: {clean(note)}")
    if files:
        out.line()
        for path, size in files:
            out.line(f"trace: {path} ({format_bytes(Decimal(size))})")


def _stacks(out: Output, part: RecordingPart) -> None:
    for stack in part.stacks:
        out.line(out.style(f"rank {part.rank} on {clean(part.node)}, process {stack.pid}: {clean(stack.name)}", "bold"))
        out.line(f"  {clean(stack.kernel)}")
        for line in stack.text.splitlines():
            out.line(f"  {clean(line)}")
        out.line()


def _summary(out: Output, found: Recording, summary: RecordingSummary) -> None:
    read = [trace.summary for part in found.parts for trace in part.traces if trace.summary is not None]
    steps = min(one.steps for one in read)
    device = "the GPUs" if any(one.device == "gpu" for one in read) else "the processors"
    who = plural(summary.processes, "process") if summary.processes == 1 else f"{summary.processes} processes"
    if steps:
        out.line(f"a step takes {span(summary.step_s)}: the mean of {steps} steps of {who}, on {device}")
    else:
        out.line(f"{span(summary.step_s)} of {who}, on {device}")
    out.line()
    out.table(
        [*titled("PHASE  >TIME  >SHARE"), Column("")],
        list(_phase_rows(summary.phases, summary.step_s)),
    )
    for name in ("data", "communication", "idle"):
        if summary.step_s and getattr(summary.phases, name) / summary.step_s >= MUCH:
            out.line(f"{name}: {_HINTS[name]}")
    out.line()
    out.table(
        "OPERATOR  >CALLS  >TIME  >SHARE",
        [[clean(one.name), str(one.calls), span(one.self_s), f"{one.share:.0%}"] for one in summary.operators[:SHOWN]],
    )
    slowest = summary.slowest
    if slowest is not None:
        out.line()
        out.line(
            f"slowest: rank {slowest.rank}; its own part of a step takes {span(slowest.own_s)}, that of the others "
            f"{span(slowest.median_s)}"
        )
    elif summary.processes > 1:
        out.line()
        out.line("no rank is slower than the others")


def _phase_rows(phases: Phases, step_s: float) -> Iterator[list[Cell | str]]:
    for name in _PHASES:
        length = float(getattr(phases, name))
        share = length / step_s if step_s else 0.0
        yield [Cell(name, "bold"), span(length), f"{share:.0%}", "#" * round(BAR * share)]


def span(seconds: float) -> str:
    """Return a short length of time with three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 1e-6:.3g} us"


COMMANDS = {
    "profile": Command(
        "profile",
        _configure,
        _run,
        about="Records some seconds of a running task, with no line of its code changed, and shows the phases of a "
        "step, the operators that take most of the time, and the slowest rank. It needs PyTorch in the task.",
        examples="examples:\n  hai profile train\n  hai profile train --steps 10 --ranks 0,3 -o traces\n"
        "  hai profile train --py",
    )
}
