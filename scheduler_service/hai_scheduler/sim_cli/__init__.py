"""`hai sim`: the simulator for the command line (docs/simulator.md)."""

from __future__ import annotations

from collections.abc import Sequence


def command(argv: Sequence[str]) -> int:
    """Run `hai sim` with these words and return its exit status.

    Raises:
        hai_client.errors.HaiError: Something is wrong with the words or the files; the message names it.
    """
    from hai_scheduler.sim_cli.app import run

    return run(argv)
