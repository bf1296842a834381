"""The variables that Slurm gives a job and each of its tasks (sbatch(1) and srun(1), "OUTPUT ENVIRONMENT VARIABLES").

Those of the job say what was allotted; those of a step, which tasks run side by side and which of them this one is.
Nodes are given by addresses in rank order: they resolve on every cluster, node names do not.
"""

from __future__ import annotations

import os

from hai_client.slurm.hostlist import join, repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hai_client.slurm.layout import Layout

CLUSTER = "hai"


def loopbacks(count: int) -> list[str]:
    """Addresses for the ranks of a run on one machine, each its own, so that a script can name a node.

    All of 127.0.0.0/8 is this machine (Linux). The first is 127.0.0.1, where rank 0 is found.
    """
    return [f"127.0.{rank // 254}.{rank % 254 + 1}" for rank in range(count)]


def cpus_here() -> int:
    """Processors that this process may use."""
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
    """What the job was allotted.

    Args:
        task_id: The task; its id is the job's.
        name: The task's name.
        user: Whose it is.
        addresses: Of its nodes, in rank order.
        rank: Which of them this is.
        gpus: How many GPUs this node has for the task.
        cpus: How many processors this node has.
        devices: Indices of those GPUs with commas; empty: not known, or none.
        submit_dir: The folder that the command starts in.
        partition: The node group.
        restarts: How many runs were before this one.
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
        # What Slurm itself says to a job that was started again, and to no other.
        **({"SLURM_JOB_RESTART_COUNT": restarts} if restarts != "0" else {}),
    }
    if devices:
        env["SLURM_JOB_GPUS"] = devices
    return env


def step_variables(layout: Layout, addresses: Sequence[str], *, index: int, local: int, step: str) -> dict[str, str]:
    """Which task of a step this is.

    Args:
        layout: The step.
        addresses: Of all nodes of the job, in rank order.
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
        # Programs of before Slurm 17 and MPI's own singletons look at these.
        **({"SLURM_NTASKS_PER_NODE": str(layout.counts[0])} if len(set(layout.counts)) == 1 else {}),
    }


def torch_variables(layout: Layout, *, index: int, local: int) -> dict[str, str]:
    """What torch.distributed, and everything that was built on it, reads: these count processes, not nodes."""
    return {
        "RANK": str(layout.first(index) + local),
        "WORLD_SIZE": str(layout.total),
        "LOCAL_RANK": str(local),
        "LOCAL_WORLD_SIZE": str(layout.counts[index]),
        "NODE_RANK": str(index),
        "GROUP_RANK": str(index),
    }


def without_step(env: Mapping[str, str]) -> dict[str, str]:
    """The variables of a job that no step has been started in yet: what a batch script sees."""
    names = {
        "SLURM_NTASKS",
        "SLURM_NPROCS",
        "SLURM_NTASKS_PER_NODE",
        "SLURM_GTIDS",
        "SLURM_LAUNCH_NODE_IPADDR",
        "SLURM_SRUN_COMM_HOST",
        "SLURM_DISTRIBUTION",
    }
    return {name: value for name, value in env.items() if name not in names and not name.startswith("SLURM_STEP")}
