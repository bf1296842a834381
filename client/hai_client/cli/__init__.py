"""The `hai` command. Importing this loads next to nothing; each verb brings its own file when it is used."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: The words after `hai`; those of the process by default.

    Returns:
        0 fine; 1 the task failed, or something went wrong on the other side; 2 wrong input; 3 not logged in
        or not allowed; 4 the platform cannot be reached; 130 ended by Ctrl-C; 141 the output was closed (a pipe).
    """
    from hai_client.cli.app import run

    return run(argv)
