"""The part of a rank's environment that is the same on every cluster and for every rank.

docs/scheduling.md, "What a rank sees". The cluster adds what only it knows: rank, addresses, GPUs, folders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskSpec

#: What a rank is told of itself, by the service or by the cluster: a task cannot choose these.
PLATFORM_VARIABLES: Final = frozenset(
    {
        "HAI_TASK_ID",
        "HAI_TASK_NAME",
        "HAI_USER",
        "HAI_RUN",
        "HAI_RUN_ID",
        "HAI_RANK",
        "HAI_NODES",
        "HAI_NODE_LIST",
        "HAI_NODE_NAME",
        "HAI_GPUS_PER_NODE",
        "HAI_RESTARTS",
        "HAI_CHECKPOINT_DIR",
        "HAI_LOG_DIR",
        "HAI_NODE_ADDRESSES",
        "HAI_RANKS_PER_NODE",
        "HAI_STATE",
        "HAI_API_URL",
        "HAI_RUNTIME_DIR",
        "HAI_TOKEN_FILE",
        "WORLD_SIZE",
        "RANK",
        "MASTER_ADDR",
        "MASTER_IP",
        "MASTER_PORT",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where ranks find things."""

    #: The REST interface as ranks reach it.
    api_url: str
    #: Folder above the checkpoint folders of tasks that name none.
    checkpoint_root: str


def checkpoint_dir(task: Task, spec: TaskSpec, places: Places) -> str:
    """Where the task keeps its checkpoints over all its runs."""
    return spec.checkpoint_dir or f"{places.checkpoint_root}/{task.user}/{task.id}"


def environment_of(task: Task, run: Run, spec: TaskSpec, places: Places, *, gpus_per_node: int) -> dict[str, str]:
    """The user's variables, then the platform's, which win."""
    nodes, restarts = str(len(run.ranks)), str(run.number - 1)
    # What else Slurm would say is the cluster's to add: it takes addresses.
    return {
        **spec.env,
        "HAI_TASK_ID": str(task.id),
        "HAI_TASK_NAME": task.name,
        "HAI_USER": task.user,
        "HAI_RUN": str(run.number),
        "HAI_RUN_ID": run.id,
        "HAI_NODES": nodes,
        "HAI_NODE_LIST": ",".join(run.nodes),
        "HAI_GPUS_PER_NODE": str(gpus_per_node),
        "HAI_RESTARTS": restarts,
        "HAI_CHECKPOINT_DIR": checkpoint_dir(task, spec, places),
        # Beside it, not in it: what is written there is no checkpoint.
        "HAI_LOG_DIR": checkpoint_dir(task, spec, places).rstrip("/") + "-logs",
        "HAI_STATE": task.job_state or "",
        "HAI_API_URL": places.api_url,
        "WORLD_SIZE": nodes,
        "PET_NNODES": nodes,
        "PET_NPROC_PER_NODE": str(max(1, gpus_per_node)),
    }
