"""`hai sim`: the simulator for the command line (docs/simulator.md)."""

from __future__ import annotations

from collections.abc import Sequence


def command(argv: Sequence[str]) -> int:
    """Run `hai sim` with these arguments and return its exit status.

    Raises:
        hai_client.errors.HaiError: An argument or a file cannot be used; the message names it.
    """
    from hai_scheduler.sim_cli.app import run

    return run(argv)
