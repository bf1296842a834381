"""`hai rehearse`: runs a command on this machine, interrupts it, starts it again, and reports what was lost."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output
from hai_client.cli.shared.parser import Command, option
from hai_client.cli.submitting import submit
from hai_client.constants import PROFILES
from hai_client.errors import HaiError, Invalid
from hai_client.rehearsal.plan import RehearsalPlan, free_port, visible_gpus

_AFTER_S = 10.0
_GRACE_S = 120.0
_OF_TASKS = ("HAI_", "PET_", "SLURM_", "TORCHELASTIC_")
_OF_LAUNCHERS = frozenset({"WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
_SIGNAL = re.compile(r"(?:SIG)?(TERM|INT|USR1|USR2)(?:@([0-9]{1,6}))?")


class Broken(HaiError):
    """The rehearsal cannot be done on this machine."""


def add_options(parser: argparse.ArgumentParser, *more_names: str) -> None:
    """Add the options of a rehearsal.

    Args:
        parser: The parser to add them to.
        more_names: Other names of the option `--after`.
    """
    add = parser.add_argument
    add(
        "--after",
        *more_names,
        dest="after",
        type=words_.duration("after"),
        metavar="TIME",
        help="tell it to leave after so long (10s; with --when 0s)",
    )
    option(parser, "--when TEXT", "count --after from when it has printed a line with this")
    option(parser, "--profile", f"how it is told to leave ({PROFILES[0]})", choices=PROFILES, default=PROFILES[0])
    option(parser, "--signal NAME", "send TERM, INT, USR1 or USR2; USR1@60: 60 s before the deadline", _signal)
    option(parser, "--grace TIME", "time to save, once told (120s)", words_.duration("grace"), default=_GRACE_S)
    option(parser, "--then TIME", "time of the second run", words_.duration("then"))
    option(parser, "--watch PATH ...", "further file or folder that the command saves in; can be repeated")
    option(parser, "--checkpoint-dir DIR", "HAI_CHECKPOINT_DIR (an empty folder, removed afterwards)")
    option(parser, "-e, --env NAME=VALUE ...", "set a variable for the command", words_.variable)


def _signal(text: str) -> tuple[str, float | None]:
    found = _SIGNAL.fullmatch(text)
    if found is None:
        raise Invalid(f"signal: {text!r} is unknown; write TERM, INT, USR1 or USR2, and for example USR1@60")
    return found[1], None if found[2] is None else float(found[2])


def rehearse(args: argparse.Namespace, command: Sequence[str], cwd: str, ctx: Context, state: str | None = None) -> int:
    """Rehearse a command; return 0 if no work would be lost, else 1.

    Raises:
        Invalid: The command cannot be run on this machine.
        Broken: No rank can be supervised on this machine.
    """
    if not sys.platform.startswith("linux"):
        raise Broken(f"a rehearsal needs Linux, as the cluster does; this is {sys.platform}")
    given = args.checkpoint_dir
    with _cleaning_up():
        folder = tempfile.mkdtemp(prefix="hai-checkpoints-") if given is None else os.path.join(cwd, given)  # noqa: PTH118
        try:
            return _rehearse(args, command, cwd, Path(folder), ctx, state)
        finally:
            if given is None:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _cleaning_up() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that the rehearsal cleans up after itself."""

    def leave(number: int, _frame: object) -> None:
        for each in found:
            # A second signal must not interrupt the clean-up.
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    # Under nohup, SIGHUP stays ignored.
    found = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        found = []
    for number in found:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in found:
            signal.signal(number, signal.SIG_DFL)


def _rehearse(
    args: argparse.Namespace, command: Sequence[str], cwd: str, checkpoints: Path, ctx: Context, state: str | None
) -> int:
    # Imported here, because the import looks up functions that only Linux has.
    from hai_client.rehearsal import report
    from hai_client.rehearsal.rehearse import BrokenRehearsal, Rehearsal

    try:
        checkpoints.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Invalid(f"checkpoint-dir: {checkpoints} cannot be made ({(error.strerror or '').lower()})") from None
    env = {**_own(os.environ), **dict(args.env)}
    name, before = args.signal or (None, None)
    after = args.after if args.after is not None else _AFTER_S if args.when is None else 0.0
    plan = RehearsalPlan(
        command=runnable(command, env),
        cwd=cwd,
        checkpoints=checkpoints.resolve(),
        profile=args.profile,
        after_s=after,
        when=args.when,
        grace_s=args.grace,
        then_s=args.then,
        watch=tuple(os.path.normpath(os.path.join(cwd, path)) for path in args.watch),  # noqa: PTH118
        signal=name,
        signal_before_s=before,
        state=state,
        env=env,
        gpus=visible_gpus(env),
        port=free_port(),
    )
    shown = Output(ctx.out.stderr, ctx.out.stderr, terminal=ctx.out.stderr.isatty()) if ctx.json else ctx.out
    moment = f"{after:g} s from now" if args.when is None else f"{after:g} s after a line with {args.when!r}"
    ctx.out.note(f"a rehearsal: {moment} it is told to leave (profile {args.profile}); nothing is submitted")
    try:
        facts = Rehearsal(plan, lambda number, line: _show(shown, number, line), ctx.out.note).run()
    except BrokenRehearsal as error:
        raise Broken(str(error)) from None
    if not ctx.answered(report.as_data(facts)):
        told = list(report.lines(facts))
        width = max(len(label) for label, _ in told) + 2
        for label, sentence in told:
            ctx.out.line(f"  {ctx.out.style(f'{label:<{width}}', 'dim')}{sentence}")
        ctx.out.line(ctx.out.style(report.verdict(facts), "green" if facts.nothing_lost else "red"))
    return 0 if facts.nothing_lost else 1


def _own(environ: Mapping[str, str]) -> dict[str, str]:
    """Return this shell's variables, without those of a task it may run in and without the login."""
    return {
        name: value for name, value in environ.items() if not name.startswith(_OF_TASKS) and name not in _OF_LAUNCHERS
    }


def _show(out: Output, number: int, line: str) -> None:
    out.printed(line, before=f"run {number} | ")
    out.stdout.flush()


def runnable(command: Sequence[str], env: dict[str, str]) -> list[str]:
    """Return the command; `python` becomes the interpreter of this process if there is no `python` on PATH."""
    if command[0] == "python" and shutil.which("python", path=env.get("PATH")) is None:
        return [sys.executable, *command[1:]]
    return list(command)


def _configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser)
    option(parser, "--cwd DIR", "folder to start in (this one)")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help=argparse.SUPPRESS)


def _raw(words: Sequence[str], ctx: Context) -> int:
    at = list(words).index("--") if "--" in words else len(words)
    args = words_.build(REHEARSE).parse_args(words[:at])
    if at < len(words) and args.command:
        raise Invalid(f"command: {args.command[0]!r} stands before the --; put the options first, then -- COMMAND")
    command = list(words[at + 1 :]) or args.command
    if not command or not command[0]:
        raise Invalid("command: missing; write for example: hai rehearse --after 30s -- torchrun train.py")
    ctx.json = getattr(args, "json", ctx.json)
    return rehearse(args, command, submit.folder(args.cwd), ctx)


REHEARSE = Command(
    "rehearse",
    _configure,
    submit.never,
    about=(
        "Run a command here, tell it to leave, and start it again, under the supervisor that the cluster uses. Then\n"
        "say whether it noticed, what it saved, what it went on from, and what would be lost. Nothing is submitted.\n"
        "The exit status is 0 if nothing would be lost, else 1."
    ),
    examples=(
        "examples:\n"
        "  hai rehearse -- python train.py\n"
        "  hai rehearse --when 'epoch 1' -- python train.py\n"
        "  hai rehearse --after 30s --profile slurm --watch lightning_logs -- python train.py\n"
        "  hai rehearse --then 1m -- torchrun --nproc-per-node 2 train.py"
    ),
    usage="hai rehearse [OPTIONS] -- COMMAND ...",
    raw=_raw,
)
COMMANDS = {"rehearse": REHEARSE}
