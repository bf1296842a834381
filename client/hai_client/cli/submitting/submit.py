"""`hai submit`, and what all verbs that submit share: the options, the request and the answer."""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from hai_client import names
from hai_client.cli.language.asked_fields import ASKED_FIELDS
from hai_client.cli.shared import asked
from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import clean, local_times
from hai_client.cli.shared.parser import Command, option
from hai_client.cli.submitting import drafts, env_options, python_options, scripts, secret_options, snapshot_options
from hai_client.cli.tasks import forecast
from hai_client.cli.tasks.follow import follow_to_end
from hai_client.constants import PROFILES
from hai_client.errors import Invalid
from hai_client.launching.provide import VARIABLE as PROVIDE
from hai_client.wire.schema import Task, TaskRequest


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a submission."""
    option(parser, "-n, --nodes N", "number of nodes (1)", words_.count("nodes"), default=1)
    option(parser, "--gpus K", "GPUs on each node, shared with others (whole nodes)", words_.count("gpus"))
    option(
        parser,
        "--ranks-per-node K|gpu",
        "run it K times on each node, or once for each GPU, with LOCAL_RANK and the like (once)",
        words_.ranks_per_node,
    )
    option(
        parser,
        "--provide KINDS",
        "give each rank TF_CONFIG (tf), a hostfile in HAI_HOSTFILE (mpi), or both: tf,mpi",
        words_.provided,
    )
    words_.add_priority(
        parser,
        "-p",
        "--priority",
        default="NORMAL",
        help_="a level, its number, or AUTO: the highest that has quota (NORMAL)",
    )
    option(parser, "--name NAME", "name of the task (that of the script)", names.check_name)
    option(parser, "-g, --group GROUP", "node group (training)", default="training")
    env_options.add_options(parser)
    secret_options.add_options(parser)
    python_options.add_options(parser)
    drafts.add_options(parser)
    snapshot_options.add_options(parser)
    option(parser, "--profile", "how it is told to leave (auto: by what it does)", choices=PROFILES, default="auto")
    option(
        parser,
        "--signal NAME[@SECONDS]",
        "signal of the notice: USR1, USR2, TERM or INT; USR1@60 sends it 60 seconds before the deadline",
        _signal,
    )
    option(parser, "--grace TIME", "time to save, once told: 120s, 2m", words_.duration("grace"))
    option(
        parser,
        "--time-limit TIME",
        "end the task when it has run for so long: 4h",
        words_.duration("time-limit", least_s=1),
    )
    asked.add_options(parser, ASKED_FIELDS)
    option(
        parser,
        "--retry-backoff TIME",
        "time before the first retry, such as 30s; each further one waits twice as long, a day at most (0)",
        words_.duration("retry-backoff"),
        default=0.0,
    )
    option(
        parser,
        "--retry-exit-codes CODES",
        "retry only these exit statuses, with commas: 1,137 (any)",
        words_.statuses("retry-exit-codes"),
        default=(),
    )
    option(parser, "--hold", "do not start it until `hai resume`")
    option(parser, "--tag TAG ...", "a tag, by which lists find the task; can be repeated")
    option(parser, "--checkpoint-dir DIR", "folder for checkpoints (one of its own)")
    option(
        parser,
        "--watch PATH ...",
        "a file or folder that it saves in besides: what changes there is a checkpoint; can be repeated",
    )
    option(parser, "--cwd DIR", "folder to start in (this one)")
    option(parser, "-f, --follow", "show what it prints until it ends")
    add_dry_run(parser)


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Add the option `--dry-run`."""
    option(parser, "--dry-run", "submit nothing; check it, and say when it would start")


def _signal(text: str) -> str:
    """Return a signal in the service's form: `SIGUSR1@60` becomes `USR1@60`."""
    found = re.fullmatch(r"(?:SIG)?(TERM|INT|USR1|USR2)(@[0-9]{1,5}(?:\.[0-9]{1,3})?)?", text.upper())
    if found is None:
        raise Invalid(
            f"signal: {text!r} is none that HAI sends; write USR1, USR2, TERM or INT, or with the seconds before the "
            "deadline USR1@60"
        )
    return found[1] + (found[2] or "")


def folder(given: str | None = None) -> str:
    """Return the absolute path of the folder to start in, with its symbolic links unresolved."""
    try:
        here = str(Path.cwd())
    except FileNotFoundError:
        raise Invalid("cwd: this folder was removed; change into another one, or give --cwd DIR") from None
    seen = os.environ.get("PWD", "")
    # The path in PWD is valid on every node; the target of a link may differ between machines.
    if seen.startswith("/") and Path(seen).exists() and Path(seen).samefile(here):
        here = seen
    return os.path.normpath(os.path.join(here, given)) if given else here  # noqa: PTH118 -- links are kept


def request_of(args: argparse.Namespace, command: Sequence[str], ctx: Context) -> TaskRequest:
    """Return the request for the options and a command.

    Raises:
        Invalid: A name cannot be made, a folder is wrong, two environments are named, or the command would not span
            the nodes.
    """
    if (problem := scripts.apart(command, args.nodes)) is not None:
        raise Invalid(problem)
    cwd = folder(args.cwd)
    where = args.checkpoint_dir
    env, environment = env_options.read(args)
    env.update({PROVIDE: args.provide} if args.provide else {})
    env.update(python_options.variables(args, ctx, env, environment))
    environment = drafts.settle(args, ctx, env, environment)
    if (literal := scripts.unexpanded(command)) is not None:
        ctx.out.note(literal)
    return TaskRequest(
        name=args.name or names.name_for(command),
        command=tuple(command),
        cwd=cwd,
        nodes=args.nodes,
        gpus=args.gpus,
        priority=args.priority,
        group=args.group,
        env=env,
        secrets=secret_options.read(args),
        profile=args.profile,
        signal=args.signal,
        grace_s=args.grace,
        time_limit_s=args.time_limit,
        checkpoint_dir=os.path.normpath(Path(cwd) / where) if where else None,
        watch=tuple(args.watch),
        tags=tuple(args.tag),
        hold=args.hold,
        retry_backoff_s=args.retry_backoff,
        retry_exit_codes=args.retry_exit_codes,
        environment=environment,
        env_latest=args.env_latest,
        ranks_per_node=args.ranks_per_node,
        **{field.name: getattr(args, field.name) for field in ASKED_FIELDS},
    )


def send(
    ctx: Context, request: TaskRequest, *, follow: bool, dry_run: bool = False, snapshot: bool | None = None
) -> int:
    """Submit a task and print the result; follow its log if asked to. A dry run prints when it would start.

    Args:
        ctx: The command's context.
        request: The task.
        follow: Whether to follow its log.
        dry_run: Whether to submit nothing; then no snapshot is taken.
        snapshot: Whether to take a snapshot of its folder; None: as the file or the platform says.
    """
    if dry_run:
        return forecast.dry_run(ctx, dataclasses.replace(request, take_snapshot=None), follow=follow)
    request = snapshot_options.with_snapshot(ctx, request, snapshot)
    try:
        task = ctx.client.submit(request)
    except Invalid as error:
        raise drafts.with_place(error, request.environment) from None
    if ctx.json:
        if not follow:
            ctx.out.json(task)
            return 0
        code = follow_to_end(ctx, task, quiet=True)
        ctx.out.json(ctx.client.task(task.id))
        return code
    ctx.out.line(sentence(ctx, _settled(ctx, task)))
    python_options.tell(ctx, request.env, task.haienv)
    ctx.out.note(*task.warnings)
    if not follow:
        handle = clean(task.name)
        for verb, about in (("logs -f", "what it prints"), ("status", "where it stands, and why")):
            ctx.out.line(f"  {f'hai {verb} {handle}':<{len(handle) + 12}}  {ctx.out.style(about, 'dim')}")
        return 0
    ctx.out.stdout.flush()
    return follow_to_end(ctx, task)


def _settled(ctx: Context, task: Task) -> Task:
    """Return the task after the scheduler's first decision on it, or as it is after half a second."""
    for _ in range(10):
        if task.state != "queued" or (task.verdict is not None and task.verdict.kind != "NEXT"):
            break
        time.sleep(0.05)
        task = ctx.client.task(task.id)
    return task


def sentence(ctx: Context, task: Task) -> str:
    """Return for example `digits is task 41: queued, position 2; ...` or `digits is task 41: starting on node-1`."""
    place = ""
    if task.verdict is not None and task.verdict.position is not None:
        place = f", position {task.verdict.position}"
    why = clean(local_times(task.message)).rstrip(".。")
    if why[1:2].islower():
        # The service's sentence begins with a capital letter; here it continues another one.
        why = why[0].lower() + why[1:]
    name = ctx.out.style(clean(task.name), "bold")
    if why.startswith(task.state):
        return f"{name} is task {task.id}: {why}"
    state = f"{task.state}, held" if task.held and not why.startswith("held") else task.state
    return f"{name} is task {task.id}: {state}{place}" + (f"; {why}" if why else "")


def _configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser)
    option(parser, "--shell LINE", "a line for bash, in place of COMMAND: --shell 'echo $HAI_RANK'")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help=argparse.SUPPRESS)


def _submit(words: Sequence[str], ctx: Context) -> int:
    own, dashes, command = _split_first(words)
    args = words_.build(SUBMIT).parse_args(own)
    if dashes and args.command:
        raise Invalid(f"command: {args.command[0]!r} stands before the --; put the options first, then -- COMMAND")
    command = command if dashes else args.command
    ctx.json = getattr(args, "json", ctx.json)
    ctx.url = getattr(args, "url", ctx.url)
    if args.shell is not None:
        return _submit_line(args, command, ctx)
    if not command or not command[0]:
        raise Invalid("command: missing; write for example: hai submit -n 2 -- python train.py")
    command = scripts.command_of(command, folder(args.cwd))
    return send(ctx, request_of(args, command, ctx), follow=args.follow, dry_run=args.dry_run, snapshot=args.snapshot)


def _submit_line(args: argparse.Namespace, command: Sequence[str], ctx: Context) -> int:
    if command:
        raise Invalid(f"shell: the line is all that runs, and {command[0]!r} stands beside it; put it into the line")
    if not args.shell.strip():
        raise Invalid("shell: the line is empty; write for example --shell 'torchrun train.py > $HAI_RANK.txt'")
    args.name = args.name or names.name_for(args.shell.split())
    return send(
        ctx,
        request_of(args, ["bash", "-c", args.shell], ctx),
        follow=args.follow,
        dry_run=args.dry_run,
        snapshot=args.snapshot,
    )


def _split_first(words: Sequence[str]) -> tuple[list[str], bool, list[str]]:
    if "--" not in words:
        return list(words), False, []
    at = list(words).index("--")
    return list(words[:at]), True, list(words[at + 1 :])


def never(_args: argparse.Namespace, _ctx: Context) -> int:
    """Stand for `run` in a command that reads its words by `raw`."""
    raise AssertionError("the words are read by `raw`")


SUBMIT = Command(
    "submit",
    _configure,
    never,
    about="Submit a command as a task. It starts in this folder, on each of its nodes, when its turn comes.",
    examples=(
        "examples:\n"
        "  hai submit -n 2 -- python train.py --lr 0.1\n"
        "  hai submit -p HIGH --time-limit 4h -e SEED=1 -f run.sh\n"
        "  hai submit --venv ~/torch --shell 'torchrun train.py --out $HAI_TASK_ID'\n"
        "  hai submit -n 8 --dry-run -- python train.py"
    ),
    usage="hai submit [OPTIONS] -- COMMAND ...",
    raw=_submit,
)
COMMANDS = {"submit": SUBMIT}
