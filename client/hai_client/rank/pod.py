"""A rank that is a pod: `python3 hai.pyz rank --pod FOLDER`.

The folder is the mounted Secret of the run. The process is the container's first: it ends with the status of the
command; the container's termination message holds the other facts of the rank.
"""
# ruff: noqa: PTH100, PTH101, PTH103, PTH118, PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os
import sys
import time

from hai_client.launching.starting import starting
from hai_client.linux import processes
from hai_client.linux.rights import make_folder
from hai_client.rank.notices.stop_signals import PodEviction
from hai_client.rank.records.log_upload import LogUploader, every_s
from hai_client.rank.records.termination import PodStatus
from hai_client.rank.shared.api import RankApi
from hai_client.rank.shared.times import rfc3339
from hai_client.rank.shared.wakeup_pipe import WakeupPipe
from hai_client.rank.starting import lock
from hai_client.rank.starting.podspec import MESSAGE_FILE, PodSpec, archive
from hai_client.rank.starting.rendezvous import RankRendezvous, may_start
from hai_client.rank.starting.secrets import RankSecrets
from hai_client.rank.starting.spec import RUN_DIR, BadSpec
from hai_client.rank.supervisor import Supervisor, make_folders, supervise

#: The exit status for an end that the command has not caused.
PLATFORM_FAILED = 125
#: By package, the programs that start processes of the rank, and Slurm's commands.
SHIMS = {
    "hai_client": ("hai-launch", "hai-provide"),
    "hai_slurm": ("hai-batch", "sacct", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun"),
}


def main(arguments: list[str]) -> int:
    """Supervise the rank of this pod.

    Args:
        arguments: `--pod` and the folder of the run's Secret.

    Returns:
        The status of the command; 125 when the platform is to blame and the termination message says why.
    """
    if len(arguments) != 2:
        print("usage: hai.pyz rank --pod FOLDER", file=sys.stderr)
        return 2
    run_dir = os.path.abspath(os.environ.get("HAI_RUN_DIR") or RUN_DIR)
    wakeup_pipe = WakeupPipe()
    status = PodStatus(run_dir, os.environ.get("HAI_TERMINATION_LOG") or MESSAGE_FILE)
    try:
        make_folders(run_dir)
        if lock.take(run_dir) is None or lock.has_begun(run_dir):
            raise BadSpec("the container of this rank was started a second time, and no rank is started twice")
        pod = PodSpec(os.path.abspath(arguments[1]), run_dir, os.environ)
        secrets = RankSecrets.load(os.path.abspath(arguments[1]), pod.spec)
        make_folder(pod.spec.log_dir, 0o700 if pod.spec.log_mode == 0o600 else 0o755)
        processes.become_subreaper()
        status.begin()
    except (BadSpec, OSError) as error:
        print(f"hai_client.rank: {error}", file=sys.stderr)
        status.end(None, str(error))
        return PLATFORM_FAILED
    _run(pod, secrets, status, wakeup_pipe)
    code = status.data["exit_code"]
    if code is None:
        print(f"hai_client.rank: {status.data['start_error']}", file=sys.stderr)
    return PLATFORM_FAILED if code is None else int(code)


def _run(pod: PodSpec, secrets: RankSecrets, status: PodStatus, wakeup_pipe: WakeupPipe) -> None:
    spec = pod.spec
    api = RankApi(spec.api_url, spec.token(), spec.run_id, spec.rank)
    uploader = LogUploader(api, spec.log_dir, rate=pod.log_rate, every_s=every_s(pod.rank, len(pod.nodes)))
    stop_signals = PodEviction(wakeup_pipe, api, grace_s=pod.grace_s, term_wait_s=spec.term_wait_s)
    supervisor = Supervisor(spec, status, wakeup_pipe, api, stop_signals, secrets=secrets, pod=True)
    if pod.upload_log:
        uploader.start()
    if pod.memlock_bytes:
        _look_at_network(pod, api, supervisor)
    addresses = _addresses(pod, api, wakeup_pipe, supervisor)
    if addresses is None:
        supervisor.say("the run was ended before it began; the command was not started")
        unknown = wakeup_pipe.signals > 0 and not stop_signals.heard(time.monotonic())
        # If the service did not order this end, report a start error and not an exit status.
        supervisor.never_start("its pod was ended before the run began" if unknown else None)
    else:
        spec.env = pod.environment(addresses)
        own = spec.command
        spec.command = starting(pod.shims, own, spec.env, ranks_per_node=pod.ranks_per_node)
        _prepare(pod, shims=spec.profile == "slurm" or spec.command != own)
        supervise(supervisor)
    if pod.upload_log:
        uploader.finish(stop_signals.left_s(time.monotonic()))


def _look_at_network(pod: PodSpec, api: RankApi, supervisor: Supervisor) -> None:
    """Say in the log, and tell the service, what keeps the rank from the fast network of its fabric."""
    # Imported here: few runs have a fabric.
    from hai_client.rank.records.reports import Outbox
    from hai_client.rank.starting import fabric

    outbox = Outbox(api)
    for found in fabric.look(pod.memlock_bytes, {**os.environ, **pod.spec.env}, pod.node):
        supervisor.say(found.sentence)
        outbox.post({"kind": "network", "at": rfc3339(time.time_ns()), "fallback": found.why})


def _addresses(pod: PodSpec, api: RankApi, wakeup_pipe: WakeupPipe, supervisor: Supervisor) -> list[str] | None:
    """Return the addresses of all ranks; None if the run ends, or this process must leave, before all are up."""
    if len(pod.nodes) == 1:
        return [pod.address] if may_start(api) and not wakeup_pipe.signals else None
    return RankRendezvous(api, pod.spec.api_url, len(pod.nodes), wakeup_pipe).wait(supervisor.say)


def _prepare(pod: PodSpec, *, shims: bool) -> None:
    """Make the folders and programs that the command expects; on failure the command's own error is the best one."""
    for name in ("HAI_CHECKPOINT_DIR", "HAI_LOG_DIR"):
        if pod.spec.env.get(name):
            with contextlib.suppress(OSError):
                os.makedirs(pod.spec.env[name], exist_ok=True)
    if shims:
        with contextlib.suppress(OSError):
            _unpack_shims(pod.shims)


def _unpack_shims(folder: str) -> None:
    """Copy the programs of `SHIMS` to a folder: they cannot be executed within an archive."""
    from importlib.util import find_spec

    os.makedirs(folder, mode=0o755, exist_ok=True)
    with open(os.path.join(folder, ".client"), "w", encoding="utf-8") as file:
        file.write(archive())
    for package, names in SHIMS.items():
        found = find_spec(package)
        if found is None or not found.submodule_search_locations:
            continue
        for name in names:
            source = os.path.join(found.submodule_search_locations[0], "shims", name)
            data: bytes = found.loader.get_data(source)  # type: ignore[union-attr]  # files and archives do
            path = os.path.join(folder, name)
            with open(path, "wb") as program:
                program.write(data)
            os.chmod(path, 0o755)  # noqa: S103  it is a program
