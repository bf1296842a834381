"""Provides settings that some frameworks need in their own form, if the task asks for it (`hai submit --provide tf`).

`tf`: TF_CONFIG, the cluster of TensorFlow's strategies, one worker for each process. `mpi`: a hostfile as DeepSpeed and
Open MPI read it, whose path is in HAI_HOSTFILE; the program has to be told of it (`deepspeed --hostfile`).
"""
# ruff: noqa: PTH118, PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: The variable with the wanted kinds, separated by commas.
VARIABLE = "HAI_PROVIDE"
KINDS = ("tf", "mpi")


def wanted(env: Mapping[str, str]) -> set[str]:
    """Return the known kinds that the task asks for."""
    return {word.strip().lower() for word in env.get(VARIABLE, "").split(",")} & set(KINDS)


def provided(env: Mapping[str, str], addresses: Sequence[str], counts: Sequence[int], number: int) -> dict[str, str]:
    """Return the variables of one process; writes the hostfile.

    Args:
        env: Its other variables.
        addresses: Addresses of the nodes of its step.
        counts: Number of processes on each of them.
        number: The number of the process within the step.
    """
    kinds, found = wanted(env), {}
    if "tf" in kinds and "TF_CONFIG" not in env:
        # Ports after the master's: each worker needs a port of its own.
        port = int(env.get("MASTER_PORT", "29500")) + 1
        workers = [address for address, count in zip(addresses, counts) for _ in range(count)]
        cluster = {"worker": [f"{address}:{port + at}" for at, address in enumerate(workers)]}
        found["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": number}})
    if "mpi" in kinds and env.get("HAI_RUNTIME_DIR"):
        path = os.path.join(env["HAI_RUNTIME_DIR"], "hostfile")
        # If it cannot be written, the program that reads it reports a clear error.
        with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as file:
            file.writelines(f"{address} slots={count}\n" for address, count in zip(addresses, counts))
        found["HAI_HOSTFILE"] = path
    return found


def main(words: list[str]) -> int:
    """Run `hai-provide -- COMMAND`: replace this process by the command, with the wanted variables."""
    if len(words) < 2 or words[0] != "--":
        print("hai-provide: usage: hai-provide -- COMMAND", file=sys.stderr)
        return 2
    env = dict(os.environ)
    addresses = env.get("HAI_NODE_ADDRESSES", "127.0.0.1").split(",")
    # An MPI that starts the processes of a node itself starts one for each GPU.
    each = int(env.get("PET_NPROC_PER_NODE", "1")) if wanted(env) == {"mpi"} else 1
    env.update(provided(env, addresses, [each] * len(addresses), int(env.get("HAI_RANK", "0"))))
    try:
        os.execvpe(words[1], words[1:], env)  # noqa: S606 -- that is what this is for
    except OSError as error:
        print(f"hai-provide: {words[1]}: {error.strerror}; correct the command, or PATH", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126
