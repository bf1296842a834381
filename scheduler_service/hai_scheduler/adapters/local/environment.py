"""The environment of a rank on this machine."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from hai_scheduler.adapters.local.nodes import LocalNode
from hai_scheduler.ports import Launch

#: Where ranks reach each other.
MASTER = "127.0.0.1"
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: What belongs to the service or to a user's Jupyter server, never to a task.
_PRIVATE_PREFIXES = ("JUPYTERHUB_", "CONFIGPROXY_")


def rank_environment(
    launch: Launch, *, rank: int, node: LocalNode, folder: Path, port: int, path_prefix: tuple[str, ...], api_url: str
) -> dict[str, str]:
    """Everything that the command of one rank sees.

    What only the cluster knows wins over the task's own variables; what a user may well choose does not.
    """
    env = {name: value for name, value in launch.env.items() if not name.startswith(_PRIVATE_PREFIXES)}
    for name, value in _defaults(launch, api_url).items():
        env.setdefault(name, value)
    env |= _place(launch, rank, node, folder, port)
    shims = []
    if launch.profile == "slurm":
        env |= _slurm(env, launch, rank)
        shims = [str(shim_folder())]
    env["PATH"] = os.pathsep.join([*shims, *path_prefix, env.get("PATH") or _SYSTEM_PATH])
    return env


def shim_folder() -> Path:
    """Where the stand-ins for Slurm's commands are."""
    found = find_spec("hai_client")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("hai_client is not installed beside hai_scheduler; install hai-platform whole")
    return Path(found.submodule_search_locations[0]) / "shims"


def _defaults(launch: Launch, api_url: str) -> dict[str, str]:
    nodes = len(launch.nodes)
    return {
        "HAI_TASK_ID": str(launch.task_id),
        "HAI_RUN": launch.run_id.partition(".")[2],
        "HAI_NODES": str(nodes),
        "HAI_NODE_LIST": ",".join(launch.nodes),
        "HAI_API_URL": api_url,
        "WORLD_SIZE": str(nodes),
        "PET_NNODES": str(nodes),
        "HOME": str(Path.home()),
        "LANG": "C.UTF-8",
        "USER": launch.user,
        "LOGNAME": launch.user,
        # A log must show what was printed before a job is ended.
        "PYTHONUNBUFFERED": "1",
    }


def _place(launch: Launch, rank: int, node: LocalNode, folder: Path, port: int) -> dict[str, str]:
    given = launch.gpus[rank] if launch.gpus else ()
    gpus = given or tuple(range(node.node.gpus))
    # Simulated GPUs are no devices: none is to be seen.
    devices = ",".join(str(node.gpu_ids[gpu]) for gpu in gpus) if node.gpu_ids else ""
    return {
        "HAI_RUN_ID": str(launch.run_id),
        "HAI_RANK": str(rank),
        "RANK": str(rank),
        "HAI_NODE_NAME": node.node.name,
        "HAI_RUNTIME_DIR": str(folder / "runtime"),
        "HAI_TOKEN_FILE": str(folder / "token"),
        "MASTER_ADDR": MASTER,
        "MASTER_IP": MASTER,
        "MASTER_PORT": str(port),
        "PET_NODE_RANK": str(rank),
        "PET_MASTER_ADDR": MASTER,
        "PET_MASTER_PORT": str(port),
        "PET_NPROC_PER_NODE": str(max(1, len(gpus))),
        "CUDA_VISIBLE_DEVICES": devices,
        "NVIDIA_VISIBLE_DEVICES": devices or "void",
    }


def _slurm(env: dict[str, str], launch: Launch, rank: int) -> dict[str, str]:
    nodes = str(len(launch.nodes))
    return {
        "SLURM_JOB_ID": str(launch.task_id),
        "SLURM_JOB_NAME": env.get("HAI_TASK_NAME") or f"task-{launch.task_id}",
        "SLURM_NTASKS": nodes,
        "SLURM_NNODES": nodes,
        "SLURM_PROCID": str(rank),
        "SLURM_NODEID": str(rank),
        "SLURM_LOCALID": "0",
        "SLURM_NTASKS_PER_NODE": "1",
        "SLURM_NODELIST": ",".join(launch.nodes),
        "SLURM_RESTART_COUNT": env.get("HAI_RESTARTS") or "0",
    }
