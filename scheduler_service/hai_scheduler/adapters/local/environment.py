"""The environment variables of a rank on this machine."""

from __future__ import annotations

from pathlib import Path

from hai_client.launching.starting import slurm_commands
from hai_client.launching.variables import loopbacks
from hai_client.linux.identity import Account
from hai_client.rank.starting import environment
from hai_scheduler.adapters.local.nodes import LocalNode
from hai_scheduler.ports.cluster import LaunchOrder


def rank_environment(
    launch: LaunchOrder,
    *,
    rank: int,
    node: LocalNode,
    runtime: Path,
    token: Path,
    port: int,
    path_prefix: tuple[str, ...],
    api_url: str,
    account: Account | None = None,
) -> dict[str, str]:
    """Return all environment variables of the command of one rank.

    Args:
        launch: The run.
        rank: The rank.
        node: The rank's node.
        runtime: The job's folder for notices and reports.
        token: The file with the run's token, as the job may read it.
        port: The port of rank 0 (`MASTER_PORT`).
        path_prefix: Folders that come first on PATH.
        api_url: The URL at which the job reaches the service.
        account: The Unix account that the command runs as; None: this process's user.
    """
    gpus = (launch.gpus[rank] if launch.gpus else ()) or tuple(range(node.node.gpus))
    run = environment.Run(
        run_id=launch.run_id,
        task_id=launch.task_id,
        user=launch.user,
        nodes=launch.nodes,
        profile=launch.profile,
        api_url=api_url,
        addresses=loopbacks(len(launch.nodes)),
        master_port=port,
        cwd=launch.cwd,
        group=launch.group,
        ranks_per_node=launch.ranks_per_node,
    )
    context = environment.RankContext(
        rank=rank,
        node=node.node.name,
        gpus=len(gpus),
        runtime_dir=str(runtime),
        token_file=str(token),
    )
    own = () if launch.python is None else (str(Path(launch.python).parent),)
    who = {} if account is None else {"USER": account.name, "LOGNAME": account.name, "SHELL": account.shell}
    home = str(Path.home()) if account is None else account.home
    devices = _devices(node, gpus)
    env = environment.rank_environment(
        who | dict(launch.env) | devices,
        run,
        context,
        home=home,
        path_first=(*own, *path_prefix),
        slurm=slurm_commands(),
    )
    return env | devices


def _devices(node: LocalNode, gpus: tuple[int, ...]) -> dict[str, str]:
    """Return the variables that show a rank its GPUs; simulated GPUs are no devices, so none is shown."""
    devices = ",".join(str(node.gpu_ids[gpu]) for gpu in gpus) if node.gpu_ids else ""
    shown = {"CUDA_VISIBLE_DEVICES": devices, "NVIDIA_VISIBLE_DEVICES": devices or "void"}
    # Else CUDA counts the fastest GPUs first, and the driver, which is asked what a GPU does, by their place.
    return shown | {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"} if devices else shown
