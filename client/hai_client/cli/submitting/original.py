"""`hai python`, `hai bash` and `hai exec`: the forms of the original command line.

hai python FILE ARGS                    runs it here
hai python FILE ARGS -- -n 2 -p HIGH    submits it
hai python FILE ARGS ++ -ss 30          rehearses an interruption here after 30 s (`hai rehearse`)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.parser import Command, option
from hai_client.cli.submitting import rehearse, scripts, submit
from hai_client.errors import Invalid
from hai_client.names import make_name
from hai_client.own_python import active
from hai_client.pythons import programs


def _python(words: Sequence[str]) -> list[str]:
    return scripts.command_of([*scripts.PYTHON, *words], "")


def _bash(words: Sequence[str]) -> list[str]:
    return [*scripts.BASH, *words]


def _exec(words: Sequence[str]) -> list[str]:
    return list(words)


_MAKE: dict[str, Callable[[Sequence[str]], list[str]]] = {"python": _python, "bash": _bash, "exec": _exec}


def run(name: str, words: Sequence[str], ctx: Context) -> int:
    """Submit, rehearse or run the command, by the separator: `--`, `++` or none."""
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
    here = submit.folder()
    _check_file(name, command[0], here)
    if separator == "++":
        return _rehearse(name, command, options, here, ctx)
    return _become(_here(name, command), ctx)


def _here(name: str, command: Sequence[str]) -> list[str]:
    """Return the command as it runs on this machine."""
    whole = _MAKE[name](command)
    if whole[1:3] == list(scripts.NOTEBOOK[1:]):
        # Run the notebook with this Python, as that on PATH may lack hai_client. The kernel is the activated one.
        whole[0] = sys.executable
        own = active(os.environ)
        whole += [] if own is None else ["--python", f"{programs(own)}/python"]
    return whole


def _submit(name: str, command: Sequence[str], options: Sequence[str], ctx: Context) -> int:
    args = words_.build(COMMANDS[name]).parse_args(options)
    ctx.json = getattr(args, "json", ctx.json)
    ctx.url = getattr(args, "url", ctx.url)
    _check_file(name, command[0], submit.folder(args.cwd))
    if args.name is None:
        args.name = make_name(Path(command[0]).stem)
    request = submit.request_of(args, _MAKE[name](command), ctx)
    return submit.send(ctx, request, follow=args.follow, dry_run=args.dry_run, snapshot=args.snapshot)


def _rehearse(name: str, command: Sequence[str], options: Sequence[str], here: str, ctx: Context) -> int:
    parser = words_.Parser(prog=f"hai {name} ... ++", allow_abbrev=False)
    rehearse.add_options(parser, "-ss", "--suspend-seconds", "--suspend_seconds")
    words_.add_common(parser)
    option(parser, "-ls, --life-state, --life_state TEXT", "the state that it had kept", dest="state")
    args = parser.parse_args(options)
    ctx.json = getattr(args, "json", ctx.json)
    return rehearse.rehearse(args, _here(name, command), here, ctx, state=args.state)


def _check_file(name: str, file: str, cwd: str) -> None:
    if name == "exec" or file.startswith("-"):
        return
    if not (Path(cwd) / file).is_file():
        raise Invalid(f"file: {file!r} is not in {cwd}; change into its folder or write its path")


def _become(command: list[str], ctx: Context) -> int:
    """Replace this process by the command, so that it gets signals and gives the exit status itself."""
    environment = dict(os.environ)
    command = rehearse.runnable(command, environment)
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
        submit.never,
        about=_ABOUT[name] + "\nThe last -- or ++ divides its own words from the options below.",
        examples=(
            "examples:\n"
            f"  hai {name} {example} --lr 0.1                 runs it here\n"
            f"  hai {name} {example} --lr 0.1 -- -n 2 -p HIGH submits it\n"
            f"  hai {name} {example} --lr 0.1 ++ -ss 30       runs it here, interrupts it after 30 s, starts it again\n"
            "after ++: the options of `hai rehearse`; -ss/--suspend-seconds TIME is --after, -ls/--life-state TEXT"
        ),
        usage=f"hai {name} {what} [ARG ...] [-- OPTIONS | ++ REHEARSAL]",
        raw=partial(run, name),
    )


COMMANDS = {name: _command(name) for name in _MAKE}
