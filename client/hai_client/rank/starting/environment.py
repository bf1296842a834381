"""Builds the variables of a rank, the same on every kind of cluster (docs/users.md, "What a task sees")."""

from __future__ import annotations

import os

from hai_client import outbound, pythons
from hai_client.launching.layout import Layout
from hai_client.launching.variables import cpus_here, job_variables, step_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
WANDB_PREFIX = "hai-"
#: Variables of the service or of a user's Jupyter server, which a task never gets.
PRIVATE_PREFIXES = ("JUPYTERHUB_", "CONFIGPROXY_")


class Run:
    """The facts that all ranks of a run share.

    `nodes` are the nodes' names and `addresses` their addresses, both in rank order; the master is rank 0.
    `ranks_per_node` is how often the command runs on each node; None: once, and the variables count nodes.
    """

    def __init__(
        self,
        *,
        run_id: str,
        task_id: int,
        user: str,
        nodes: Sequence[str],
        profile: str,
        api_url: str,
        addresses: Sequence[str],
        master_port: int,
        cwd: str = "",
        group: str = "training",
        ranks_per_node: int | None = None,
    ) -> None:
        self.run_id = run_id
        self.task_id = task_id
        self.user = user
        self.nodes = tuple(nodes)
        self.profile = profile
        self.api_url = api_url
        self.addresses = tuple(addresses)
        self.master_port = master_port
        self.cwd = cwd
        self.group = group
        self.ranks_per_node = ranks_per_node

    @property
    def is_one_process(self) -> bool:
        """Whether the command runs once, on one node, so that it has no peers."""
        return len(self.nodes) == 1 and self.ranks_per_node is None

    @property
    def master(self) -> str:
        """The address of rank 0."""
        return self.addresses[0]


class RankContext:
    """The facts of one rank: its number, node and GPUs, its folder for notices and reports, its token's file."""

    def __init__(self, *, rank: int, node: str, gpus: int, runtime_dir: str, token_file: str) -> None:
        self.rank = rank
        self.node = node
        self.gpus = gpus
        self.runtime_dir = runtime_dir
        self.token_file = token_file


def rank_environment(
    given: Mapping[str, str], run: Run, context: RankContext, *, home: str, path_first: Sequence[str], slurm: str | None
) -> dict[str, str]:
    """Return all variables of the command of one rank, but those of its devices.

    Variables that only the cluster can know win over the task's own; defaults that a user may change do not.

    Args:
        given: The task's own variables, and those that are the same for every rank.
        run: The run.
        context: The rank.
        home: The value of HOME if the task does not set it.
        path_first: Folders that come first on PATH.
        slurm: Folder of Slurm's commands, which is on PATH for the profile `slurm` only; None: they are not here.
    """
    env = {name: value for name, value in given.items() if not name.startswith(PRIVATE_PREFIXES)}
    for name, value in {**_defaults(run, home), **pythons.activated(env)}.items():
        env.setdefault(name, value)
    env.update(_place(run, context))
    if run.is_one_process:
        # `RANK` means to much code that a launcher has started it, with `LOCAL_RANK`: nanoGPT, DINO, MAE, DETR.
        del env["RANK"]
    if context.rank == 0:
        # One run of Weights & Biases for a task over all its runs. Further ranks that log have runs of their own.
        env.setdefault("WANDB_RUN_ID", f"{WANDB_PREFIX}{run.task_id}")
        env.setdefault("WANDB_RESUME", "allow")
    for name, value in _trackers(env).items():
        env.setdefault(name, value)
    own = pythons.chosen(env)
    first = [*([] if own is None else [pythons.programs(own)]), *path_first]
    if run.profile == "slurm":
        env.update(_slurm(env, run, context))
        # The signal that submitit's own start of a job waits for.
        env.setdefault("SUBMITIT_PREEMPT_SIGNAL", "USR1")
        first[:0] = [] if slurm is None else [slurm]
    env["PATH"] = os.pathsep.join([*first, env.get("PATH") or SYSTEM_PATH])
    # The service, and the other ranks: gRPC obeys proxies too.
    env.update(outbound.completed(env, ("localhost", "127.0.0.1", outbound.host_of(run.api_url), *run.addresses)))
    return env


def _defaults(run: Run, home: str) -> dict[str, str]:
    nodes = str(len(run.nodes))
    return {
        "HAI_TASK_ID": str(run.task_id),
        "HAI_RUN": run.run_id.partition(".")[2],
        "HAI_NODES": nodes,
        "HAI_NODE_LIST": ",".join(run.nodes),
        "HAI_API_URL": run.api_url,
        **({} if run.is_one_process else {"WORLD_SIZE": nodes}),
        "PET_NNODES": nodes,
        "HOME": home,
        "LANG": "C.UTF-8",
        "USER": run.user,
        "LOGNAME": run.user,
        # Unbuffered, so that the log shows all that was printed before the job is ended.
        "PYTHONUNBUFFERED": "1",
    }


def _trackers(env: Mapping[str, str]) -> dict[str, str]:
    """Return what lets experiment trackers find the earlier turns of the task (`env`: its other variables)."""
    import json

    # MLflow tells its server these tags of each run that it begins; `hai_client.mlflow` finds the run by them.
    tags = {
        "hai.task": env["HAI_TASK_ID"],
        "hai.name": env.get("HAI_TASK_NAME", ""),
        "hai.user": env.get("HAI_USER") or env["USER"],
    }
    found = {"MLFLOW_RUN_CONTEXT": json.dumps(tags)}
    if env.get("HAI_LOG_DIR"):
        found["HAI_TENSORBOARD_DIR"] = f"{env['HAI_LOG_DIR'].rstrip('/')}/tensorboard"
        # The trainer of Transformers writes there.
        found["TENSORBOARD_LOGGING_DIR"] = env.get("HAI_TENSORBOARD_DIR") or found["HAI_TENSORBOARD_DIR"]
    return found


def _place(run: Run, context: RankContext) -> dict[str, str]:
    rank, port = str(context.rank), str(run.master_port)
    return {
        "HAI_RUN_ID": run.run_id,
        "HAI_RANK": rank,
        "HAI_NODE_ADDRESSES": ",".join(run.addresses),
        "RANK": rank,
        # Lightning's own environment counts nodes by it.
        "NODE_RANK": rank,
        "HAI_NODE_NAME": context.node,
        "HAI_RUNTIME_DIR": context.runtime_dir,
        "HAI_TOKEN_FILE": context.token_file,
        "MASTER_ADDR": run.master,
        "MASTER_IP": run.master,
        "MASTER_PORT": port,
        "PET_NODE_RANK": rank,
        "PET_MASTER_ADDR": run.master,
        "PET_MASTER_PORT": port,
        "PET_NPROC_PER_NODE": str(max(1, context.gpus)),
    }


def _slurm(env: Mapping[str, str], run: Run, context: RankContext) -> dict[str, str]:
    """Return Slurm's variables of the job and of step 0; a launcher overwrites them for the tasks that it starts."""
    layout = Layout(range(len(run.nodes)), [run.ranks_per_node or 1] * len(run.nodes))
    job = job_variables(
        task_id=run.task_id,
        name=env.get("HAI_TASK_NAME") or f"task-{run.task_id}",
        user=run.user,
        addresses=run.addresses,
        rank=context.rank,
        gpus=context.gpus,
        cpus=cpus_here(),
        devices=env.get("CUDA_VISIBLE_DEVICES", ""),
        submit_dir=env.get("HAI_SUBMIT_DIR") or run.cwd,
        partition=run.group,
        restarts=env.get("HAI_RESTARTS") or "0",
    )
    return {**job, **step_variables(layout, run.addresses, index=context.rank, local=0, step="0")}
