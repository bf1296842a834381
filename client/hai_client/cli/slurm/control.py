"""`scancel` and `scontrol` over the platform."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hai_client.backports import without_prefix
from hai_client.cli.shared.context import Context
from hai_client.cli.slurm.listing import row_of
from hai_client.constants import ENDED_STATES
from hai_client.errors import Conflict, NotFound
from hai_client.slurm.hostlist import expand, join
from hai_client.slurm.options import BadOption


def scancel(argv: Sequence[str], ctx: Context) -> int:
    """Cancel tasks: by their ids, or all own tasks (`--me`), or own tasks of a name (`--name`)."""
    jobs: list[str] = []
    chosen: dict[str, str] = {}
    waiting = list(argv)
    while waiting:
        word = waiting.pop(0)
        name, given, value = word.partition("=")
        if word in ("--me", "-Q", "--quiet", "-f", "--full", "-b", "--batch", "-v", "--verbose"):
            chosen[word] = ""
        elif name in ("-n", "--name", "--jobname", "-u", "--user", "-s", "--signal", "-t", "--state"):
            chosen[name] = value if given else waiting.pop(0) if waiting else ""
        elif word.startswith("-"):
            raise BadOption(f"{word}: not an option that HAI knows of; known are --me, -u, -n, -t, -s")
        else:
            jobs += word.split(",")
    number = next((chosen[name] for name in ("-s", "--signal") if name in chosen), None)
    if number is not None and without_prefix(number.upper(), "SIG") not in ("KILL", "TERM", "9", "15"):
        raise BadOption(f"--signal={number}: HAI sends no signals by hand; `hai suspend ID` tells a task to leave")
    # Go on after an error, so that all of them are tried.
    found = [_cancel(job, ctx) for job in jobs or _chosen(chosen, ctx)]
    return 0 if all(found) else 1


def _cancel(job: str, ctx: Context) -> bool:
    """Stop a task; return whether it exists."""
    try:
        ctx.client.stop(job.partition(".")[0].partition("_")[0])
    except NotFound:
        print(f"scancel: error: Kill job error on job id {job}: Invalid job id specified", file=sys.stderr)
        return False
    except Conflict:
        # The task has ended already.
        return True
    return True


def _chosen(chosen: dict[str, str], ctx: Context) -> list[str]:
    name = next((chosen[word] for word in ("-n", "--name", "--jobname") if word in chosen), None)
    user = next((chosen[word] for word in ("-u", "--user") if word in chosen), None)
    state = next((chosen[word].upper() for word in ("-t", "--state") if word in chosen), None)
    if name is None and user is None and "--me" not in chosen:
        raise BadOption("no job is named; write for example scancel 41, or scancel --me")
    tasks = list(ctx.client.tasks(user=user, state="live", name=name))
    return [str(task.id) for task in tasks if state is None or row_of(task)["STATE"].startswith(state)]


def scontrol(argv: Sequence[str], ctx: Context) -> int:
    """Hold, release or requeue tasks; show jobs, nodes or host lists."""
    words = [word for word in argv if word not in ("-o", "--oneliner", "-Q", "--quiet", "-d", "--details")]
    verb = words[0] if words else ""
    if words[:2] in (["show", "hostnames"], ["show", "hostname"]):
        print("\n".join(expand(" ".join(words[2:]))))
    elif words[:2] in (["show", "hostlist"], ["show", "hostlistsorted"]):
        print(join(" ".join(words[2:]).replace(",", " ").split()))
    elif words[:2] == ["show", "job"]:
        _show_jobs(words[2:], ctx)
    elif words[:2] in (["show", "node"], ["show", "nodes"]):
        for node in ctx.client.nodes():
            print(f"NodeName={node.name} Gres=gpu:{node.gpus} Partitions={node.group}")
    elif verb in ("hold", "release", "requeue", "requeuehold", "uhold", "suspend", "resume") and words[1:]:
        for job in ",".join(words[1:]).split(","):
            _change(verb, job, ctx)
    else:
        known = "show job|node|hostnames|hostlist, hold, release, requeue, suspend, resume"
        raise BadOption(f"{' '.join(words)!r} is not known; known are {known}")
    return 0


def _change(verb: str, job: str, ctx: Context) -> None:
    client = ctx.client
    if verb in ("hold", "uhold"):
        client.hold(job)
    elif verb in ("release", "resume"):
        client.resume(job)
    else:
        # Its nodes are taken from it now. It is released so that it can start again.
        client.suspend(job)
        if verb == "requeue":
            client.resume(job)


def _show_jobs(jobs: Sequence[str], ctx: Context) -> None:
    found = [ctx.client.task(job) for job in jobs] or [ctx.client.task(t.id) for t in ctx.client.tasks(state="live")]
    for task in found:
        row = row_of(task)
        facts = {
            "JobId": row["JOBID"],
            "JobName": row["NAME"],
            "UserId": row["USER"],
            "Priority": row["PRIORITY"],
            "QOS": row["QOS"],
            "JobState": row["STATE"],
            "Reason": row["REASON"],
            "Restarts": row["RESTARTS"],
            "RunTime": row["TIME"],
            "TimeLimit": row["TIME_LIMIT"],
            "SubmitTime": row["SUBMIT_TIME"],
            "StartTime": row["START_TIME"],
            "EndTime": row["END_TIME"] if task.state in ENDED_STATES else "Unknown",
            "Partition": row["PARTITION"],
            "NodeList": row["NODELIST"],
            "NumNodes": row["NODES"],
            "ExitCode": row["EXITCODE"],
            "WorkDir": row["WORK_DIR"],
        }
        print(" ".join(f"{name}={value}" for name, value in facts.items()))
