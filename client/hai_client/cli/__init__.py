"""The `hai` command. An import of this loads almost nothing; the module of each verb is loaded when it is used."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: The words after `hai` (default: those of the process).

    Returns:
        The exit status: 0 success; 1 the task failed, or something went wrong on the other side; 2 wrong input; 3 not
        logged in or not allowed; 4 the platform cannot be reached; 130 ended by Ctrl-C; 141 the output was closed.
    """
    from hai_client.cli.app import run

    return run(argv)
