"""Runs the programs in `shims/`, and turns every error into a line."""

from __future__ import annotations

import importlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: The programs that start the processes of a rank, with their modules.
PROGRAMS = {"hai-launch": "hai_client.launching.launcher", "hai-provide": "hai_client.launching.provide"}
#: The exit status for every error, and those of the shell for Ctrl-C and for a reader that has gone.
FAILED, INTERRUPTED, NOBODY_READS = 1, 130, 141


def main(name: str, words: list[str]) -> int:
    """Run the program of that name, and return its exit status."""
    return guarded(name, lambda: int(importlib.import_module(PROGRAMS[name]).main(words)))


def guarded(name: str, run: Callable[[], int], known: tuple[type[Exception], ...] = ()) -> int:
    """Run a program, and return its exit status.

    This is the outermost place: nobody gets a traceback, unless HAI_DEBUG is set.

    Args:
        name: The name of the program.
        run: The program; it returns the exit status.
        known: Errors whose message is for users.
    """
    try:
        if hasattr(sys.stdout, "reconfigure"):
            # A character that cannot be shown must not end the command.
            sys.stdout.reconfigure(errors="backslashreplace")
        code = run()
        if sys.stdout is not None:
            # `scontrol show hostnames | head -n 1` reads no further.
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        importlib.import_module("hai_client.cli.shared.complaints").forget_stdout()
        return NOBODY_READS
    except Exception as error:
        if os.environ.get("HAI_DEBUG"):
            raise
        what = (
            str(error)
            if isinstance(error, known)
            else f"unexpected {type(error).__name__}: {error}; HAI_DEBUG=1 shows where"
        )
        line = "".join(letter if letter.isprintable() else " " for letter in what)
        print(f"{name}: error: {line.strip()}", file=sys.stderr)
        return FAILED
    return code
