"""Builds the command that starts a command several times on a node."""
# ruff: noqa: PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import sys

from hai_client.launching.provide import wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def starting(shims: str, command: Sequence[str], env: Mapping[str, str], *, ranks_per_node: int | None) -> list[str]:
    """Return the command line of a rank: the command, or a launcher that starts it several times or adds variables.

    Args:
        shims: The folder of the programs in `shims/`, as the rank sees it.
        command: The command of the task.
        env: The environment variables of the rank.
        ranks_per_node: Number of processes on each node; None: one.
    """
    if ranks_per_node is not None:
        return launching(shims, ranks_per_node, command)
    if wanted(env):
        return [*launcher(shims)[:-1], os.path.join(shims, "hai-provide"), "--", *command]
    return list(command)


def launching(shims: str, ranks_per_node: int, command: Sequence[str]) -> list[str]:
    """Return the command line of a rank for `--ranks-per-node`."""
    return [*launcher(shims), str(ranks_per_node), "--", *command]


def launcher(shims: str) -> list[str]:
    """Return the command line of the launcher."""
    # With this Python: the task's may be of another version, and older than 3.8. What is started finds its own on PATH.
    return [sys.executable or "python3", os.path.join(shims, "hai-launch")]


def slurm_commands() -> str | None:
    """Return the folder of Slurm's commands; None: hai-slurm is not installed here."""
    from importlib.util import find_spec

    found = find_spec("hai_slurm")
    if found is None or not found.submodule_search_locations:
        return None
    return os.path.join(found.submodule_search_locations[0], "shims")


def own_shims() -> str:
    """Return the folder `shims/` that contains this program, or else that of this package."""
    beside = os.path.dirname(os.path.realpath(sys.argv[0]))  # noqa: PTH120
    if os.path.exists(os.path.join(beside, "hai-launch")):  # noqa: PTH110
        return beside
    return os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "shims")  # noqa: PTH120
