"""Runs the command line: finds the verb, runs it, and turns every error into one line and an exit status."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence

from hai_client.cli import verbs
from hai_client.cli.shared.complaints import complain, forget_stdout
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output
from hai_client.cli.shared.parser import Command, build, meant
from hai_client.errors import HaiError, Invalid
from hai_client.masking import masked
from hai_client.version import __version__

INTERRUPTED = 130
NOBODY_READS = 141


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see `hai_client.cli.main`."""
    ctx = Context(Output.of_process())
    code = _run(list(sys.argv[1:] if argv is None else argv), ctx)
    if ctx.heard is not None and not ctx.json and ctx.heard[1] != __version__:
        from hai_client.cli.shared.daily import tell

        with contextlib.suppress(OSError):
            tell(ctx.out, *ctx.heard)
    if ctx.ends is not None and not ctx.json:
        from hai_client.cli.shared.daily import tell_of_end

        with contextlib.suppress(OSError):
            tell_of_end(ctx.out, *ctx.ends)
    return code


def _run(argv: list[str], ctx: Context) -> int:
    out, debug = ctx.out, bool(os.environ.get("HAI_DEBUG"))
    try:
        code = _dispatch(argv, ctx)
        out.stdout.flush()
    except HaiError as error:
        if debug:
            raise
        return complain(out, error.message, error.exit_code)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        forget_stdout()
        return NOBODY_READS
    except SystemExit as end:
        # argparse's --help ends this way.
        return end.code if isinstance(end.code, int) else 0
    except Exception as error:
        # The last resort: a user never gets a traceback.
        if debug:
            raise
        what = f"{type(error).__name__}: {masked(str(error))}"
        return complain(out, f"unexpected {what}; HAI_DEBUG=1 shows where, please report it", 1)
    return code


def find(name: str) -> Command | None:
    """Return the command of a verb in the table; None for a verb of another package."""
    verb = verbs.BY_NAME.get(name)
    if verb is None or verb.module is None:
        return None
    module = importlib.import_module(f"hai_client.cli.{verb.module}")
    commands: dict[str, Command] = module.COMMANDS
    return commands[name]


def _dispatch(argv: list[str], ctx: Context) -> int:
    rest = _leading_options(argv, ctx)
    if not rest or rest[0] in ("-h", "--help", "help"):
        return _help(rest[1:] if rest[:1] == ["help"] else [], ctx)
    name, words = rest[0], rest[1:]
    if name == "--version":
        name, words = "version", []
    if name == "__complete":
        from hai_client.cli.complete import complete

        return complete(words, ctx)
    command = find(name)
    if command is None:
        return _elsewhere(name, words)
    if command.raw is not None:
        return command.raw(words, ctx) or 0
    args = build(command).parse_args(words)
    ctx.json = getattr(args, "json", ctx.json)
    ctx.url = getattr(args, "url", ctx.url)
    return command.run(args, ctx) or 0


def _leading_options(argv: list[str], ctx: Context) -> list[str]:
    """Take `--json` and `--url` where they stand before the verb."""
    rest = list(argv)
    while rest:
        if rest[0] == "--json":
            ctx.json = True
        elif rest[0] == "--url" and len(rest) > 1:
            ctx.url = rest.pop(1)
        elif rest[0].startswith("--url="):
            ctx.url = rest[0].partition("=")[2]
        else:
            break
        rest.pop(0)
    return rest


def _help(words: Sequence[str], ctx: Context) -> int:
    command = find(words[0]) if words else None
    if command is not None:
        build(command).print_help(ctx.out.stdout)
        return 0
    from hai_client.cli import plugins

    others = tuple(name for name in plugins.installed() if name not in verbs.BY_NAME)
    ctx.out.stdout.write(verbs.overview(others))
    return 0


def _elsewhere(name: str, words: Sequence[str]) -> int:
    from hai_client.cli import plugins

    if name in verbs.BY_NAME or name in plugins.installed():
        return plugins.run(name, words)
    if name.startswith("-"):
        raise Invalid(f"{name}: not an option before the verb; `hai --help` shows the verbs")
    raise Invalid(f"verb: {name!r} is unknown; {meant(name, verbs.BY_NAME, '`hai {}`')}`hai --help` lists all")
