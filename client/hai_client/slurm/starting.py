"""The command that starts a command several times on a node."""
# ruff: noqa: PTH118
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import sys

from hai_client.slurm.provide import wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def starting(shims: str, command: Sequence[str], env: Mapping[str, str], *, ranks_per_node: int | None) -> list[str]:
    """What a rank executes: its command, or what starts that several times or with more variables.

    Args:
        shims: The folder of the stand-ins, as the rank sees it.
        command: The task's own.
        env: What the rank sees.
        ranks_per_node: How often the command runs on each node; None: once.
    """
    if ranks_per_node is not None:
        return launching(shims, ranks_per_node, command)
    if wanted(env):
        return [*launcher(shims)[:-1], os.path.join(shims, "hai-provide"), "--", *command]
    return list(command)


def launching(shims: str, ranks_per_node: int, command: Sequence[str]) -> list[str]:
    """What a rank executes for `--ranks-per-node`."""
    return [*launcher(shims), str(ranks_per_node), "--", *command]


def launcher(shims: str) -> list[str]:
    """The words that start the launcher."""
    # With this Python: the task's may be of another version, and older than 3.8. What is started finds its own on PATH.
    return [sys.executable or "python3", os.path.join(shims, "hai-launch")]


def own_shims() -> str:
    """The folder of the stand-ins that this program is one of."""
    beside = os.path.dirname(os.path.realpath(sys.argv[0]))  # noqa: PTH120
    if os.path.exists(os.path.join(beside, "hai-launch")):  # noqa: PTH110
        return beside
    return os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "shims")  # noqa: PTH120
