"""`hai python`, `hai bash` and `hai exec`: the forms of the original command line.

hai python FILE ARGS                    runs it here
hai python FILE ARGS -- -n 2 -p HIGH    submits it
hai python FILE ARGS ++ -ss 30          runs it here and rehearses an interruption after 30 s
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from hai_client.cli import parser as words_
from hai_client.cli import scripts, submit
from hai_client.cli.context import Context
from hai_client.cli.parser import Command
from hai_client.errors import Invalid
from hai_client.names import make_name
from hai_client.own_python import active
from hai_client.rank.pythons import programs

#: What a script that is one rank of one may expect to see, besides the moment of the interruption.
_ALONE = {
    "WORLD_SIZE": "1",
    "RANK": "0",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_IP": "127.0.0.1",
    "MASTER_PORT": "29510",
}
_REHEARSAL_S = 10.0


def _python(words: Sequence[str]) -> list[str]:
    return scripts.command_of([*scripts.PYTHON, *words], "")


def _bash(words: Sequence[str]) -> list[str]:
    return [*scripts.BASH, *words]


def _exec(words: Sequence[str]) -> list[str]:
    return list(words)


_MAKE: dict[str, Callable[[Sequence[str]], list[str]]] = {"python": _python, "bash": _bash, "exec": _exec}


def run(name: str, words: Sequence[str], ctx: Context) -> int:
    """Submit, rehearse or run, as the separator says: `--`, `++` or none."""
    command, separator, options = words_.split_last(words)
    if separator is None and (not command or command[0] in ("-h", "--help")):
        if command:
            words_.build(COMMANDS[name]).print_help(ctx.out.stdout)
            return 0
        raise Invalid(f"{_WHAT[name]}: missing; write for example: hai {name} {_EXAMPLE[name]} -- -n 2")
    if not command or not command[0]:
        raise Invalid(f"{_WHAT[name]}: missing before {separator}; `hai {name} --help` shows the forms")
    if separator == "--":
        return _submit(name, command, options, ctx)
    added = _rehearsal(name, options) if separator == "++" else {}
    _check_file(name, command[0], submit.folder())
    if added:
        seconds = added["HAI_SIMULATE_SUSPEND"]
        ctx.out.note(f"a rehearsal: {seconds} s from now it is told to leave; nothing is submitted")
    environment = {**os.environ, **added}
    whole = _MAKE[name](command)
    if whole[1:3] == list(scripts.NOTEBOOK[1:]):
        # What runs a notebook is here, and the python on PATH may lack it; the kernel is that of what is activated.
        whole[0] = sys.executable
        own = active(environment)
        whole += [] if own is None else ["--python", f"{programs(own)}/python"]
    return _become(whole, environment, ctx)


def _submit(name: str, command: Sequence[str], options: Sequence[str], ctx: Context) -> int:
    args = words_.build(COMMANDS[name]).parse_args(options)
    ctx.json = getattr(args, "json", ctx.json)
    ctx.url = getattr(args, "url", ctx.url)
    _check_file(name, command[0], submit.folder(args.cwd))
    if args.name is None:
        args.name = make_name(Path(command[0]).stem)
    return submit.send(
        ctx, submit.request_of(args, _MAKE[name](command), ctx), follow=args.follow, dry_run=args.dry_run
    )


def _rehearsal(name: str, options: Sequence[str]) -> dict[str, str]:
    parser = words_.Parser(prog=f"hai {name} ... ++", allow_abbrev=False)
    parser.add_argument(
        "-ss",
        "--suspend-seconds",
        "--suspend_seconds",
        dest="seconds",
        type=words_.duration("suspend-seconds"),
        default=_REHEARSAL_S,
        metavar="TIME",
        help="tell it to leave after so long (10s)",
    )
    parser.add_argument(
        "-ls", "--life-state", "--life_state", dest="state", metavar="TEXT", help="the state that it had kept"
    )
    args = parser.parse_args(options)
    added = {**_ALONE, "HAI_SIMULATE_SUSPEND": f"{args.seconds:g}"}
    return added if args.state is None else {**added, "HAI_STATE": args.state}


def _check_file(name: str, file: str, cwd: str) -> None:
    if name == "exec" or file.startswith("-"):
        return
    if not (Path(cwd) / file).is_file():
        raise Invalid(f"file: {file!r} is not in {cwd}; change into its folder or write its path")


def _become(command: list[str], environment: dict[str, str], ctx: Context) -> int:
    """Let the command take this process's place: signals and exit status are its own."""
    if command[0] == "python" and shutil.which("python", path=environment.get("PATH")) is None:
        command = [sys.executable, *command[1:]]
    ctx.out.stdout.flush()
    ctx.out.stderr.flush()
    try:
        os.execvpe(command[0], command, environment)  # noqa: S606 -- no shell is wanted
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Invalid(f"command: {command[0]!r} cannot be run here ({why.lower()}); check its path") from None


_WHAT = {"python": "file", "bash": "file", "exec": "command"}
_EXAMPLE = {"python": "train.py", "bash": "run.sh", "exec": "./train"}
_ABOUT = {
    "python": "Run a Python script: here, as a task, or here with a rehearsed interruption.",
    "bash": "Run a shell script: here, as a task, or here with a rehearsed interruption.",
    "exec": "Run any program: here, as a task, or here with a rehearsed interruption.",
}


def _command(name: str) -> Command:
    what, example = _WHAT[name].upper(), _EXAMPLE[name]
    return Command(
        name,
        submit.add_options,
        submit._never,
        about=_ABOUT[name] + "\nThe last -- or ++ divides its own words from the options below.",
        examples=(
            "examples:\n"
            f"  hai {name} {example} --lr 0.1                 runs it here\n"
            f"  hai {name} {example} --lr 0.1 -- -n 2 -p HIGH submits it\n"
            f"  hai {name} {example} --lr 0.1 ++ -ss 30       runs it here and tells it to leave after 30 s\n"
            "after ++: -ss/--suspend-seconds TIME (10s), -ls/--life-state TEXT"
        ),
        usage=f"hai {name} {what} [ARG ...] [-- OPTIONS | ++ REHEARSAL]",
        raw=partial(run, name),
    )


COMMANDS = {name: _command(name) for name in _MAKE}
