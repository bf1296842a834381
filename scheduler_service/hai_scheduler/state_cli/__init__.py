"""`hai backup`, `hai restore` and `hai upgrade`: the scheduler's state on one machine (docs/operations.md)."""

from __future__ import annotations

from collections.abc import Sequence


def backup(argv: Sequence[str]) -> int:
    """Run `hai backup` with these arguments and return its exit status. Raises hai_client.errors.HaiError."""
    from hai_scheduler.state_cli.app import run_backup

    return run_backup(argv)


def restore(argv: Sequence[str]) -> int:
    """Run `hai restore` with these arguments and return its exit status. Raises hai_client.errors.HaiError."""
    from hai_scheduler.state_cli.app import run_restore

    return run_restore(argv)


def upgrade(argv: Sequence[str]) -> int:
    """Run `hai upgrade` with these arguments and return its exit status. Raises hai_client.errors.HaiError."""
    from hai_scheduler.state_cli.app import run
    from hai_scheduler.state_cli.upgrade_app import UPGRADE

    return run(UPGRADE, argv)
