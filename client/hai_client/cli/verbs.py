"""The table of verbs: their descriptions in `hai --help` and their modules."""

from __future__ import annotations

from hai_client.backports import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb and the module with its `Command`; None: the verb belongs to another package."""

    name: str
    summary: str
    module: str | None
    section: str


_RUN, _WATCH, _STEER, _PLATFORM = "Run something", "See how it goes", "Steer it", "The platform"

VERBS: tuple[Verb, ...] = (
    Verb("submit", "submit a command as a task", "submitting.submit", _RUN),
    Verb("run", "submit an experiment file (YAML)", "submitting.experiment", _RUN),
    Verb("python", "submit a Python script, run it here, or rehearse an interruption", "submitting.original", _RUN),
    Verb("bash", "the same for a shell script", "submitting.original", _RUN),
    Verb("exec", "the same for any program", "submitting.original", _RUN),
    Verb("slurm", "put sbatch, srun, squeue and their like on PATH", None, _RUN),
    Verb(
        "rehearse", "interrupt a command here and start it again; say what would be lost", "submitting.rehearse", _RUN
    ),
    Verb("list", "list tasks", "tasks.listing", _WATCH),
    Verb("status", "show where a task stands", "tasks.listing", _WATCH),
    Verb("explain", "say why a task waits, and what would let it start", "tasks.listing", _WATCH),
    Verb("forecast", "say when a task would start, and who would make room", "tasks.forecast", _WATCH),
    Verb("decisions", "show what was decided on a task, and why", "tasks.forecast", _WATCH),
    Verb("top", "show what running tasks use now", "tasks.top", _WATCH),
    Verb("profile", "record a running task: phases of a step, operators, stacks", "tasks.profile", _WATCH),
    Verb("logs", "show, follow or search what a task prints", "tasks.logs", _WATCH),
    Verb("snapshot", "show or fetch the code that a task runs with", "tasks.snapshot", _WATCH),
    Verb("describe", "show what was submitted", "tasks.listing", _WATCH),
    Verb("stop", "end tasks for good", "tasks.control", _STEER),
    Verb("suspend", "take the nodes of tasks now; resume later", "tasks.control", _STEER),
    Verb("resume", "let held or suspended tasks run again", "tasks.control", _STEER),
    Verb("hold", "do not start tasks (again) until they are resumed", "tasks.control", _STEER),
    Verb("tag", "show or change the tags of a task", "tasks.tags", _STEER),
    Verb("star", "star a task, for yourself", "tasks.tags", _STEER),
    Verb("priority", "change the priority of a task", "tasks.control", _STEER),
    Verb("nodes", "list the nodes and what runs on them", "platform.nodes", _PLATFORM),
    Verb("quota", "show what you may use, and use; raise or lower it", "platform.quota", _PLATFORM),
    Verb("environments", "what tasks may run in; have environments built", "submitting.environments", _PLATFORM),
    Verb("policy", "show the numbers that the scheduler decides with", "platform.policy", _PLATFORM),
    Verb("report", "show what was used, waited, lost, and what it costs", "platform.report", _PLATFORM),
    Verb("secret", "set, list and remove keys and passwords that your tasks get", "platform.secrets", _PLATFORM),
    Verb(
        "notify", "what you are told of your tasks, and where: JupyterLab, mail, webhooks", "platform.notify", _PLATFORM
    ),
    Verb("whoami", "show who you are and what you may do", "platform.account", _PLATFORM),
    Verb("login", "get a token and keep it", "platform.account", _PLATFORM),
    Verb("logout", "revoke the token that login has kept", "platform.account", _PLATFORM),
    Verb(
        "admin",
        "nodes, quota, policy, rates, budgets, mounts, users, audit, health and more; for admins",
        "platform.admin",
        _PLATFORM,
    ),
    Verb("version", "show the version, and what of the platform works with what", "platform.version", _PLATFORM),
    Verb("completion", "print a completion script for bash, zsh or fish", "completion", _PLATFORM),
    Verb("sim", "try scheduling rules on a trace, without a cluster", None, _PLATFORM),
    Verb("up", "start the whole platform on this machine", None, _PLATFORM),
    Verb("backup", "copy the scheduler's database of this machine to a file", None, _PLATFORM),
    Verb("restore", "put a copy of the scheduler's database in place again", None, _PLATFORM),
    Verb("upgrade", "say what a new version changes on this machine", None, _PLATFORM),
    Verb("cluster", "install the platform on a Kubernetes cluster", None, _PLATFORM),
)

BY_NAME: dict[str, Verb] = {verb.name: verb for verb in VERBS}

_HEAD = """\
usage: hai VERB ...

Task-level time-sharing for GPU clusters: submit tasks, watch them, steer them.
"""

_TAIL = """\
Tasks are named by id or by name. `hai VERB --help` says more about a verb.

Everywhere: --json prints JSON; --url ADDRESS names the platform (also HAI_URL, or `hai login`).
Exit status: 0 fine, 1 the task failed or the platform had trouble, 2 wrong input, 3 not logged in or not
allowed, 4 the platform cannot be reached.
"""


def overview(others: tuple[str, ...] = ()) -> str:
    """Return the text of `hai --help`.

    Args:
        others: Names of verbs of other packages that are missing in the table.
    """
    lines = [_HEAD]
    width = max(len(verb.name) for verb in VERBS) + 2
    section = ""
    for verb in VERBS:
        if verb.section != section:
            lines.append(("\n" if section else "") + verb.section)
            section = verb.section
        lines.append(f"  {verb.name:<{width}}{verb.summary}")
    if others:
        lines.append("\nFrom other packages")
        lines.extend(f"  {name}" for name in others)
    return "\n".join([*lines, "", _TAIL])
