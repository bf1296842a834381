"""`scontrol` inside a task: `requeue`, `show hostnames`, `show hostlist`, `show job`. It acts on this job only."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

from hai_client.launching.hostlist import BadHostlist, expand, join
from hai_client.whole_files import write_whole


def main(words: list[str]) -> int:
    """Run `scontrol`, and return its exit status."""
    words = [word for word in words if word not in ("-o", "--oneliner", "-Q", "--quiet")]
    if words[:1] == ["requeue"]:
        return _requeue(words[1:])
    if words[:2] in (["show", "hostnames"], ["show", "hostname"]):
        return _hostnames(words[2:])
    if words[:2] in (["show", "hostlist"], ["show", "hostlistsorted"]):
        print(join(" ".join(words[2:]).replace(",", " ").split()))
        return 0
    if words[:2] == ["show", "job"]:
        return _show_job(words[2:])
    known = "requeue, show hostnames, show hostlist and show job"
    print(f"scontrol: {' '.join(words)!r} is not known inside a task of HAI; known are {known}", file=sys.stderr)
    return 1


def _foreign(words: list[str]) -> bool:
    """Return whether the words name another job, after printing that this is not possible."""
    own = os.environ.get("SLURM_JOB_ID", "")
    other = next((word for word in words if word.partition(".")[0].partition("_")[0] != own), None)
    if other is not None:
        print(f"scontrol: job {other} is not this task ({own}); a task can speak for itself only", file=sys.stderr)
    return other is not None


def _requeue(words: list[str]) -> int:
    """Report to the supervisor that every rank has saved and may leave."""
    if _foreign(words):
        return 1
    folder = Path(os.environ["HAI_RUNTIME_DIR"], "reports")
    name = f"{time.time_ns():020d}-{os.getpid()}-scontrol.json"
    now = datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")
    write_whole(folder / name, json.dumps({"kind": "done", "at": now, "all_ranks": True}), mode=0o666)
    return 0


def _hostnames(words: list[str]) -> int:
    text = words[0] if words else os.environ.get("SLURM_JOB_NODELIST") or os.environ.get("SLURM_NODELIST", "")
    try:
        print("\n".join(expand(text)))
    except BadHostlist as error:
        print(f"scontrol: {error}", file=sys.stderr)
        return 1
    return 0


def _show_job(words: list[str]) -> int:
    if _foreign(words):
        return 1
    env = os.environ
    facts = {
        "JobId": env.get("SLURM_JOB_ID", ""),
        "JobName": env.get("SLURM_JOB_NAME", ""),
        "UserId": env.get("SLURM_JOB_USER", ""),
        "JobState": "RUNNING",
        "Restarts": env.get("SLURM_RESTART_COUNT", "0"),
        "Partition": env.get("SLURM_JOB_PARTITION", ""),
        "NodeList": env.get("SLURM_JOB_NODELIST", ""),
        "NumNodes": env.get("SLURM_JOB_NUM_NODES", ""),
        "WorkDir": env.get("SLURM_SUBMIT_DIR", ""),
    }
    print(" ".join(f"{name}={value}" for name, value in facts.items()))
    return 0
