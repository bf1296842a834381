"""The variables that Slurm gives a job and each of its tasks (sbatch(1) and srun(1), "OUTPUT ENVIRONMENT VARIABLES").

Variables of the job describe its allocation; variables of a step describe its tasks, and which one this is.
Nodes are given by addresses in rank order: they resolve on every cluster, node names do not.
"""

from __future__ import annotations

import os

from hai_client.launching.hostlist import join, repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hai_client.launching.layout import Layout

CLUSTER = "hai"


def loopbacks(count: int) -> list[str]:
    """Return a different address for each rank of a run on one machine, so that a script can name a node.

    All of 127.0.0.0/8 is this machine (Linux). The first is 127.0.0.1, where rank 0 is found.
    """
    return [f"127.0.{rank // 254}.{rank % 254 + 1}" for rank in range(count)]


def cpus_here() -> int:
    """Return the number of processors that this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def job_variables(
    *,
    task_id: int,
    name: str,
    user: str,
    addresses: Sequence[str],
    rank: int,
    gpus: int,
    cpus: int,
    devices: str,
    submit_dir: str,
    partition: str,
    restarts: str,
) -> dict[str, str]:
    """Return the variables of a job: its allocation.

    Args:
        task_id: The task; its id is the job's.
        name: The task's name.
        user: The owner of the task.
        addresses: Of its nodes, in rank order.
        rank: The rank of this node.
        gpus: Number of GPUs of the task on this node.
        cpus: Number of processors of this node.
        devices: Indices of these GPUs, separated by commas; empty: unknown, or none.
        submit_dir: The folder that the command starts in.
        partition: The node group.
        restarts: Number of earlier runs.
    """
    job, nodes, hosts = str(task_id), str(len(addresses)), join(addresses)
    env = {
        "SLURM_CLUSTER_NAME": CLUSTER,
        "SLURM_JOB_ID": job,
        "SLURM_JOBID": job,
        "SLURM_JOB_NAME": name,
        "SLURM_JOB_USER": user,
        "SLURM_JOB_PARTITION": partition,
        "SLURM_JOB_NODELIST": hosts,
        "SLURM_NODELIST": hosts,
        "SLURM_JOB_NUM_NODES": nodes,
        "SLURM_NNODES": nodes,
        "SLURM_NODEID": str(rank),
        "SLURMD_NODENAME": addresses[rank],
        "SLURM_TOPOLOGY_ADDR": addresses[rank],
        "SLURM_TOPOLOGY_ADDR_PATTERN": "node",
        "SLURM_CPUS_ON_NODE": str(cpus),
        "SLURM_JOB_CPUS_PER_NODE": repeated([cpus] * len(addresses)),
        "SLURM_GPUS_ON_NODE": str(gpus),
        "SLURM_SUBMIT_DIR": submit_dir,
        "SLURM_SUBMIT_HOST": addresses[0],
        "SLURM_RESTART_COUNT": restarts,
        # Slurm sets this only for a job that was started again.
        **({"SLURM_JOB_RESTART_COUNT": restarts} if restarts != "0" else {}),
    }
    if devices:
        env["SLURM_JOB_GPUS"] = devices
    return env


def step_variables(layout: Layout, addresses: Sequence[str], *, index: int, local: int, step: str) -> dict[str, str]:
    """Return the variables of one task of a step.

    Args:
        layout: The step.
        addresses: Addresses of all nodes of the job, in rank order.
        index: The node within the step.
        local: The task within the node.
        step: The number of the step.
    """
    hosts = join(addresses[node] for node in layout.nodes)
    tasks, total, nodes = repeated(layout.counts), str(layout.total), str(len(layout.nodes))
    first = layout.first(index)
    return {
        "SLURM_STEP_ID": step,
        "SLURM_STEPID": step,
        "SLURM_STEP_NODELIST": hosts,
        "SLURM_STEP_NUM_NODES": nodes,
        "SLURM_STEP_NUM_TASKS": total,
        "SLURM_STEP_TASKS_PER_NODE": tasks,
        "SLURM_TASKS_PER_NODE": tasks,
        "SLURM_NTASKS": total,
        "SLURM_NPROCS": total,
        "SLURM_NNODES": nodes,
        "SLURM_NODEID": str(index),
        "SLURM_PROCID": str(first + local),
        "SLURM_LOCALID": str(local),
        "SLURM_GTIDS": ",".join(str(first + number) for number in range(layout.counts[index])),
        "SLURM_DISTRIBUTION": "block",
        "SLURM_LAUNCH_NODE_IPADDR": addresses[layout.nodes[0]],
        "SLURM_SRUN_COMM_HOST": addresses[layout.nodes[0]],
        # Read by programs older than Slurm 17 and by MPI programs without a launcher.
        **({"SLURM_NTASKS_PER_NODE": str(layout.counts[0])} if len(set(layout.counts)) == 1 else {}),
    }


#: The names of what `torch_variables` returns.
TORCH = frozenset({"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK"})


def torch_variables(layout: Layout, *, index: int, local: int) -> dict[str, str]:
    """Return the variables that torch.distributed reads, which count processes instead of nodes."""
    return {
        "RANK": str(layout.first(index) + local),
        "WORLD_SIZE": str(layout.total),
        "LOCAL_RANK": str(local),
        "LOCAL_WORLD_SIZE": str(layout.counts[index]),
        "NODE_RANK": str(index),
        "GROUP_RANK": str(index),
    }


def without_step(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a batch script: those of a job in which no step has been started yet.

    Torch's are not among them, as with Slurm: `mpirun` in the script would hand them on to all its processes.
    """
    names = TORCH | {
        "SLURM_NTASKS",
        "SLURM_NPROCS",
        "SLURM_NTASKS_PER_NODE",
        "SLURM_GTIDS",
        "SLURM_LAUNCH_NODE_IPADDR",
        "SLURM_SRUN_COMM_HOST",
        "SLURM_DISTRIBUTION",
    }
    return {name: value for name, value in env.items() if name not in names and not name.startswith("SLURM_STEP")}
