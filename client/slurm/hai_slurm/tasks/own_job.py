"""`squeue` and `sacct` inside a task: they show this task only, as the token of a run allows no more."""

from __future__ import annotations

import os

from hai_slurm.shared.queries import fields, read_sacct, read_squeue


def main(name: str, words: list[str]) -> int:
    """Print the row of this job, if it is asked for."""
    env = os.environ
    job = {
        "JOBID": env.get("SLURM_JOB_ID") or env.get("HAI_TASK_ID", ""),
        "NAME": env.get("SLURM_JOB_NAME") or env.get("HAI_TASK_NAME", ""),
        "USER": env.get("HAI_USER", ""),
        "STATE": "RUNNING",
        "ST": "R",
        "PARTITION": env.get("SLURM_JOB_PARTITION", ""),
        "NODES": env.get("HAI_NODES", ""),
        "NODELIST": env.get("SLURM_JOB_NODELIST", ""),
        "NODELIST(REASON)": env.get("SLURM_JOB_NODELIST", ""),
        "REASON": "None",
        # The end of the run is unknown; a notice comes before it.
        "TIME_LIMIT": "UNLIMITED",
        "TIME_LEFT": "UNLIMITED",
        "TIMELIMIT": "UNLIMITED",
        "EXEC_HOST": env.get("SLURM_JOB_NODELIST", "").partition(",")[0],
        "EXITCODE": "0:0",
        "WORK_DIR": env.get("SLURM_SUBMIT_DIR", ""),
        "RESTART_COUNT": env.get("HAI_RESTARTS", "0"),
    }
    query = read_squeue(words) if name == "squeue" else read_sacct(words)
    for line in fields() if query.fields else query.lines([job], job["USER"]):
        print(line)
    return 0
