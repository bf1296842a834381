"""What one rank is told by variables, on every cluster alike (docs/scheduling.md, "What a rank sees")."""

from __future__ import annotations

import os

from hai_client.rank import pythons
from hai_client.slurm.layout import Layout
from hai_client.slurm.variables import cpus_here, job_variables, step_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
WANDB_PREFIX = "hai-"
#: What belongs to the service or to a user's Jupyter server, never to a task.
PRIVATE_PREFIXES = ("JUPYTERHUB_", "CONFIGPROXY_")


class Run:
    """What all ranks of a run share.

    `nodes` are names and `addresses` addresses, both in rank order; the master is rank 0. `ranks_per_node` says how
    often the command runs on each node; None: once, and the variables count nodes.
    """

    __slots__ = (
        "addresses",
        "api_url",
        "cwd",
        "group",
        "master_port",
        "nodes",
        "profile",
        "ranks_per_node",
        "run_id",
        "task_id",
        "user",
    )

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
    def master(self) -> str:
        """The address of rank 0."""
        return self.addresses[0]


class Seat:
    """What is one rank's alone: its number, how many GPUs it has, its folder for notices and reports, its token."""

    __slots__ = ("gpus", "node", "rank", "runtime_dir", "token_file")

    def __init__(self, *, rank: int, node: str, gpus: int, runtime_dir: str, token_file: str) -> None:
        self.rank = rank
        self.node = node
        self.gpus = gpus
        self.runtime_dir = runtime_dir
        self.token_file = token_file


def rank_environment(
    given: Mapping[str, str], run: Run, seat: Seat, *, home: str, path_first: Sequence[str], shims: str
) -> dict[str, str]:
    """Everything that the command of one rank sees, its devices excepted.

    What only the cluster knows wins over the task's own variables; what a user may well choose does not.

    Args:
        given: The task's own variables, and those that are the same for every rank.
        run: The run.
        seat: The rank.
        home: What HOME is where nobody has said.
        path_first: Folders that come first on PATH.
        shims: Where the stand-ins for Slurm's commands are; on PATH for the profile `slurm` only.
    """
    env = {name: value for name, value in given.items() if not name.startswith(PRIVATE_PREFIXES)}
    for name, value in {**_defaults(run, home), **pythons.activated(env)}.items():
        env.setdefault(name, value)
    env.update(_place(run, seat))
    if seat.rank == 0:
        # One run of Weights & Biases for a task, however often it is resumed. Ranks that log too have their own.
        env.setdefault("WANDB_RUN_ID", f"{WANDB_PREFIX}{run.task_id}")
        env.setdefault("WANDB_RESUME", "allow")
    own = pythons.chosen(env)
    first = [*([] if own is None else [pythons.programs(own)]), *path_first]
    if run.profile == "slurm":
        env.update(_slurm(env, run, seat))
        # What submitit's own entry into a job waits for.
        env.setdefault("SUBMITIT_PREEMPT_SIGNAL", "USR1")
        first.insert(0, shims)
    env["PATH"] = os.pathsep.join([*first, env.get("PATH") or SYSTEM_PATH])
    return env


def _defaults(run: Run, home: str) -> dict[str, str]:
    nodes = str(len(run.nodes))
    return {
        "HAI_TASK_ID": str(run.task_id),
        "HAI_RUN": run.run_id.partition(".")[2],
        "HAI_NODES": nodes,
        "HAI_NODE_LIST": ",".join(run.nodes),
        "HAI_API_URL": run.api_url,
        "WORLD_SIZE": nodes,
        "PET_NNODES": nodes,
        "HOME": home,
        "LANG": "C.UTF-8",
        "USER": run.user,
        "LOGNAME": run.user,
        # A log must show what was printed before a job is ended.
        "PYTHONUNBUFFERED": "1",
    }


def _place(run: Run, seat: Seat) -> dict[str, str]:
    rank, port = str(seat.rank), str(run.master_port)
    return {
        "HAI_RUN_ID": run.run_id,
        "HAI_RANK": rank,
        "HAI_NODE_ADDRESSES": ",".join(run.addresses),
        "RANK": rank,
        # Lightning's own environment counts nodes by it.
        "NODE_RANK": rank,
        "HAI_NODE_NAME": seat.node,
        "HAI_RUNTIME_DIR": seat.runtime_dir,
        "HAI_TOKEN_FILE": seat.token_file,
        "MASTER_ADDR": run.master,
        "MASTER_IP": run.master,
        "MASTER_PORT": port,
        "PET_NODE_RANK": rank,
        "PET_MASTER_ADDR": run.master,
        "PET_MASTER_PORT": port,
        "PET_NPROC_PER_NODE": str(max(1, seat.gpus)),
    }


def _slurm(env: Mapping[str, str], run: Run, seat: Seat) -> dict[str, str]:
    """The job, and step 0 of it with one task a node: a launcher says otherwise to those that it starts."""
    layout = Layout(range(len(run.nodes)), [run.ranks_per_node or 1] * len(run.nodes))
    job = job_variables(
        task_id=run.task_id,
        name=env.get("HAI_TASK_NAME") or f"task-{run.task_id}",
        user=run.user,
        addresses=run.addresses,
        rank=seat.rank,
        gpus=seat.gpus,
        cpus=cpus_here(),
        devices=env.get("CUDA_VISIBLE_DEVICES", ""),
        submit_dir=run.cwd,
        partition=run.group,
        restarts=env.get("HAI_RESTARTS") or "0",
    )
    return {**job, **step_variables(layout, run.addresses, index=seat.rank, local=0, step="0")}
