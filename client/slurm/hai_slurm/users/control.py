"""`scancel` and `scontrol` over the platform."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from hai_client.backports import without_prefix
from hai_client.cli.shared.context import Context
from hai_client.errors import Conflict, NotFound
from hai_client.launching.hostlist import expand, join
from hai_client.names import make_name
from hai_client.wire.schema import TaskSummary
from hai_slurm.commands import VERSION
from hai_slurm.shared.getting import BadOption, KnownOptions
from hai_slurm.shared.queries import number_of, states_of
from hai_slurm.users.listing import user_of
from hai_slurm.users.partitions import node_line, partition_lines
from hai_slurm.users.rows import row_of

_SCANCEL = KnownOptions(
    {
        "A": "account=", "b": "batch", "f": "full", "H": "hurry", "i": "interactive", "M": "clusters=", "n": "name=",
        "p": "partition=", "q": "qos=", "Q": "quiet", "R": "reservation=", "s": "signal=", "t": "state=", "u": "user=",
        "v": "verbose", "w": "nodelist=",
    },
    {"me": "me", "jobname": "name=", "states": "state=", "ctld": "ctld", "sibling": "sibling=", "wckey": "wckey=",
     "cluster": "clusters=", "cron": "cron"},
)  # fmt: skip
_SCONTROL = KnownOptions(
    {"a": "all", "d": "details", "F": "future", "h": "help", "M": "clusters=", "o": "oneliner", "Q": "quiet",
     "u": "uid=", "v": "verbose"},
    {"federation": "federation", "hide": "hide", "json": "json", "local": "local", "sibling": "sibling",
     "yaml": "yaml", "cluster": "clusters="},
)  # fmt: skip
_UNKNOWN = "Invalid job id specified"
#: Options that choose jobs.
_CHOICES = frozenset({"name", "user", "me", "state", "partition", "qos", "account", "nodelist"})
_CONFIG = {"AccountingStorageType": "accounting_storage/slurmdbd", "ClusterName": "hai", "SLURM_VERSION": VERSION}
#: What is shown of a job, and the column that it is in.
_FACTS = (
    "JobId=JOBID JobName=NAME UserId=USER Priority=PRIORITY Account=ACCOUNT QOS=QOS JobState=STATE Reason=REASON "
    "Restarts=RESTART_COUNT ExitCode=EXITCODE RunTime=ELAPSED TimeLimit=TIMELIMIT SubmitTime=SUBMIT_TIME "
    "StartTime=START EndTime=END Partition=PARTITION NodeList=NODELIST BatchHost=EXEC_HOST NumNodes=NODES "
    "TresPerNode=TRES_PER_NODE Command=COMMAND WorkDir=WORK_DIR Comment=COMMENT"
)


def scancel(argv: Sequence[str], ctx: Context) -> int:
    """Cancel tasks: by their ids, by their name, state, user, node group or priority, or those of both."""
    given, words = _SCANCEL.split(argv)
    chosen = dict(given)
    for refused in ("interactive", "reservation", "wckey", "cron"):
        if refused in chosen:
            raise BadOption(f"--{refused}: HAI has nothing of the kind: leave it out")
    number = chosen.get("signal")
    if number is not None and without_prefix(number.upper(), "SIG") not in ("KILL", "TERM", "9", "15"):
        raise BadOption(f"--signal={number}: HAI sends no signals by hand; `hai suspend ID` tells a task to leave")
    jobs = [job for word in words for job in word.split(",") if job]
    steps = [job for job in jobs if "." in job]
    if steps:
        # The whole task would be another thing than its step.
        raise BadOption(f"{steps[0]}: HAI cannot cancel a step: name the job, or end the step in the task")
    if not jobs and not _CHOICES & chosen.keys():
        raise BadOption("no job is named; write for example scancel 41, or scancel --me")
    if _CHOICES & chosen.keys():
        jobs = _chosen(jobs, chosen, ctx)
    # Go on after an error, so that all of them are tried.
    found = [_cancel(job, ctx, quiet="quiet" in chosen) for job in jobs]
    return 0 if all(found) else 1


def _cancel(job: str, ctx: Context, *, quiet: bool) -> bool:
    """Stop a task; return whether it exists."""
    try:
        ctx.client.stop(_number(job))
    except NotFound:
        if not quiet:
            print(f"scancel: error: Kill job error on job id {job}: {_UNKNOWN}", file=sys.stderr)
        return False
    except Conflict:
        # The task has ended already.
        return True
    return True


def _number(job: str) -> str:
    number = number_of(job)
    if not (number.isascii() and number.isdigit()):
        raise BadOption(f"Invalid job id {job}")
    return number


def _chosen(jobs: list[str], chosen: dict[str, str], ctx: Context) -> list[str]:
    """Return the jobs that the options choose: of those that are named, else of all; and those that are not known."""
    user = user_of(chosen["user"], ctx) if "user" in chosen else ctx.client.me().name if "me" in chosen else None
    states = states_of(chosen["state"]) if "state" in chosen else set()
    # The service finds all names that hold the text.
    name = make_name(chosen["name"]) if "name" in chosen else None
    unknown: list[str] = []
    tasks: Iterable[TaskSummary] = (
        _named(jobs, unknown, ctx) if jobs else ctx.client.tasks(user=user, state="live", name=name)
    )
    rows = [row_of(task) for task in tasks]
    return unknown + [
        row["JOBID"]
        for row in rows
        if name in (None, row["NAME"])
        and user in (None, row["USER"])
        and (not states or row["STATE"] in states)
        and chosen.get("partition") in (None, row["PARTITION"])
        and chosen.get("qos", row["QOS"]).lower() == row["QOS"].lower()
        and chosen.get("account") in (None, row["ACCOUNT"])
        and ("nodelist" not in chosen or set(row["NODELIST"].split(",")) & set(expand(chosen["nodelist"])))
    ]


def _named(jobs: list[str], unknown: list[str], ctx: Context) -> list[TaskSummary]:
    found: list[TaskSummary] = []
    for job in jobs:
        try:
            found.append(ctx.client.task(_number(job)))
        except NotFound:  # noqa: PERF203 -- of each job by itself
            unknown.append(job)
    return found


def scontrol(argv: Sequence[str], ctx: Context) -> int:
    """Hold, release or requeue tasks; show jobs, nodes, node groups or lists of hosts."""
    given, words = _SCONTROL.split(argv)
    if {"json", "yaml"} & dict(given).keys():
        raise BadOption("--json: HAI prints lines here; `hai status ID --json` prints JSON")
    verb = words[0] if words else ""
    if verb == "show" and words[1:]:
        _show(words[1].partition("=")[0], [*words[1].split("=")[1:], *words[2:]], ctx, words)
    elif verb in ("hold", "release", "requeue", "requeuehold", "uhold", "suspend", "resume") and words[1:]:
        for job in ",".join(words[1:]).split(","):
            _change(verb, _number(job), ctx)
    elif verb == "ping":
        ctx.client.health()
        ctx.out.line(f"Slurmctld(primary) at {ctx.settings().url} is UP")
    else:
        raise _unknown(words)
    return 0


def _unknown(words: Sequence[str]) -> BadOption:
    known = "show job|node|partition|config|hostnames|hostlist, hold, release, requeue, suspend, resume, ping"
    return BadOption(f"{' '.join(words)!r} is not known; known are {known}")


def _show(what: str, names: list[str], ctx: Context, words: Sequence[str]) -> None:
    if what in ("hostnames", "hostname"):
        lines = expand(" ".join(names))
    elif what in ("hostlist", "hostlistsorted"):
        lines = [join(" ".join(names).replace(",", " ").split())]
    elif what in ("job", "jobs", "jobid"):
        lines = _jobs([one for name in names for one in name.split(",") if one], ctx)
    elif what in ("node", "nodes", "partition", "partitions"):
        lines = _nodes(what, expand(" ".join(names)), ctx)
    elif what == "config":
        now = datetime.now()  # noqa: DTZ005 -- local, as all times of Slurm's commands
        lines = [f"Configuration data as of {now:%Y-%m-%dT%H:%M:%S}"]
        lines += [f"{name:<23} = {value}" for name, value in _CONFIG.items()]
    else:
        raise _unknown(words)
    for line in lines:
        ctx.out.line(line)


def _nodes(what: str, wanted: Sequence[str], ctx: Context) -> list[str]:
    by_group = what.startswith("partition")
    found = [node for node in ctx.client.nodes() if not wanted or (node.group if by_group else node.name) in wanted]
    if wanted and not found:
        raise BadOption(f"{'Partition' if by_group else 'Node'} {' '.join(wanted)} not found")
    return partition_lines(found) if by_group else [node_line(node) for node in found]


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


def _jobs(jobs: Sequence[str], ctx: Context) -> list[str]:
    try:
        numbers = [_number(job) for job in jobs] or [str(task.id) for task in ctx.client.tasks(state="live")]
        found = [ctx.client.task(number) for number in numbers]
    except NotFound:
        raise BadOption(_UNKNOWN) from None
    return [_facts(row_of(task)) for task in found] or ["No jobs in the system"]


def _facts(row: Mapping[str, str]) -> str:
    return " ".join(f"{name}={row[value]}" for name, _, value in (fact.partition("=") for fact in _FACTS.split()))
