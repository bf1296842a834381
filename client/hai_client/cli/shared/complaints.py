"""The one line that says what went wrong, also to a reader that has gone."""

from __future__ import annotations

import contextlib
import os
import sys

from hai_client.cli.shared.output import Output, clean


def complain(out: Output, message: str, code: int) -> int:
    """Write the one line of an error and return the exit status."""
    try:
        out.stdout.flush()
        out.stderr.write(f"{out.style('hai:', 'red') if out.watched else 'hai:'} {clean(message)}\n")
        out.stderr.flush()
    except BrokenPipeError:
        forget_stdout()
    return code


def forget_stdout() -> None:
    """Send the interpreter's last flush to the null device, so that it prints no error either."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
