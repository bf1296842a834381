"""The environment variables of a rank that are the same on every cluster and for every rank.

See docs/users.md, "What a task sees". The cluster adds the rank, addresses, GPUs and folders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.core.workspace import builds
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.world import RankLocations

#: Variables that the service or the cluster sets for each rank: a submission cannot set them.
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
        builds.VARIABLE,
        "HAI_SUBMIT_DIR",
        "HAI_SNAPSHOT",
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
#: Variables that the cluster sets where it knows the GPUs of a rank: there the value of a submission does not count.
DEVICE_VARIABLES: Final = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
#: Prefixes of the Hub's variables.
_HUBS: Final = ("JUPYTERHUB_", "CONFIGPROXY_")


def check_variables(variables: Iterable[str]) -> None:
    """Raise Invalid for a variable that admins cannot give to tasks."""
    for name in variables:
        if name in PLATFORM_VARIABLES:
            raise Invalid(f"variables.{name}", None, "is set by the platform for every rank: leave it out")
        if name.startswith(_HUBS):
            raise Invalid(f"variables.{name}", None, "belongs to the Hub and never reaches a task: leave it out")


def device_warnings(variables: Mapping[str, str]) -> list[str]:
    """Return a warning for each variable on devices that a submission sets."""
    return [
        f"{name}: the platform sets it to the GPUs that a rank holds, whatever you give; ask for GPUs with --gpus, or "
        "set it in the command"
        for name in DEVICE_VARIABLES
        if name in variables
    ]


def checkpoint_dir(task: Task, spec: TaskSpec, locations: RankLocations) -> str:
    """The folder of the task's checkpoints, the same for all its runs."""
    return spec.checkpoint_dir or f"{locations.checkpoint_root}/{task.user}/{task.id}"


def rank_env(task: Task, run: Run, spec: TaskSpec, locations: RankLocations, *, gpus_per_node: int) -> dict[str, str]:
    """The environment variables of the run's ranks: the user's, overridden by the platform's."""
    nodes, restarts = str(len(run.ranks)), str(run.number - 1)
    # The cluster adds other variables that Slurm would set, as they need addresses.
    code = {} if spec.snapshot is None else {"HAI_SNAPSHOT": spec.snapshot.digest}
    return {
        **spec.env,
        **code,
        "HAI_TASK_ID": str(task.id),
        "HAI_TASK_NAME": task.name,
        "HAI_USER": task.user,
        "HAI_RUN": str(run.number),
        "HAI_RUN_ID": run.id,
        "HAI_NODES": nodes,
        "HAI_NODE_LIST": ",".join(run.nodes),
        "HAI_GPUS_PER_NODE": str(gpus_per_node),
        "HAI_RESTARTS": restarts,
        "HAI_CHECKPOINT_DIR": checkpoint_dir(task, spec, locations),
        # Beside the folder of checkpoints: a change of logs must not count as a checkpoint.
        "HAI_LOG_DIR": checkpoint_dir(task, spec, locations).rstrip("/") + "-logs",
        # The folder where the task was submitted, whatever it starts in.
        "HAI_SUBMIT_DIR": spec.cwd,
        "HAI_STATE": task.job_state or "",
        "HAI_API_URL": locations.api_url,
        "PET_NNODES": nodes,
        "PET_NPROC_PER_NODE": str(max(1, gpus_per_node)),
    }
