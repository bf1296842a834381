"""`srun` inside a task: a step of it.

In a batch job (`sbatch`) it starts tasks on all nodes, by the server of the job, and prints what they print. Elsewhere
each rank executes its own command: there `srun` runs the rank's own share of the step.
"""
# ruff: noqa: PTH109

from __future__ import annotations

import os
import signal
import sys
import threading

from hai_client.launching.hostlist import BadHostlist, expand
from hai_client.launching.launcher import Launcher, supervisor, told_to_leave
from hai_client.launching.layout import BadLayout, Layout, lay_out
from hai_client.launching.output import file_name, names_tasks, open_file, write_all
from hai_client.launching.part import StepPart
from hai_slurm.shared.getting import BadOption
from hai_slurm.shared.options import SRUN, Words, read
from hai_slurm.tasks import wire
from hai_slurm.tasks.agent import NODES_OWN
from hai_slurm.tasks.wire import Channel, Closed, Output, WireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

VERSION = "slurm 23.02.0 (HAI)"
#: How long to try to reach the server of the job while something listens there, seconds.
PATIENCE_S = 60.0
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def main(words: list[str]) -> int:
    """Run a step, and return the exit status."""
    if words[:1] in (["--version"], ["-V"]):
        print(VERSION)
        return 0
    try:
        found = read(words, SRUN)
        if not found.rest:
            raise BadOption("a command is missing; write for example: srun python train.py")
        layout = layout_of(found, os.environ)
        request = request_of(found, layout, os.environ)
    except (BadOption, BadLayout, BadHostlist) as error:
        print(f"srun: {error}", file=sys.stderr)
        return 2
    if "quiet" not in found.given:
        for note in found.notes:
            print(f"srun: {note}", file=sys.stderr)
    return _remote(request) if os.environ.get("HAI_STEP_SERVER") else _share(request)


def layout_of(found: Words, env: Mapping[str, str]) -> Layout:
    """Return the tasks of the step, by node. Raises BadOption, BadLayout, BadHostlist."""
    addresses = _addresses(env)
    allowed = list(range(len(addresses)))
    if "nodelist" in found.given:
        allowed = [_node("nodelist", name, env) for name in expand(found.given["nodelist"])]
    if "exclude" in found.given:
        out = {_node("exclude", name, env) for name in expand(found.given["exclude"])}
        allowed = [node for node in allowed if node not in out]
    allowed = allowed[found.number("relative", least=0) or 0 :]
    if not allowed:
        raise BadOption("no node of the job is left for the step; see --nodelist, --exclude and --relative")
    nodes = found.given.get("nodes")
    most = None
    if nodes is not None:
        found.given["nodes"] = nodes.rpartition("-")[2]
        most = found.number("nodes")
    ntasks, per_node = found.number("ntasks"), found.number("ntasks-per-node")
    if ntasks is None and per_node is None and most is None and "nodelist" not in found.given:
        ntasks = _whole(env.get("HAI_BATCH_NTASKS"))
    return lay_out(
        allowed,
        ntasks=ntasks,
        per_node=per_node,
        most_nodes=most,
        default_per_node=_whole(env.get("HAI_BATCH_PER_NODE")) or 1,
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() and int(text) else None


def _addresses(env: Mapping[str, str]) -> list[str]:
    return env.get("HAI_NODE_ADDRESSES", "127.0.0.1").split(",")


def _node(option: str, name: str, env: Mapping[str, str]) -> int:
    """Return the rank of a node that an option names by its address or its name. Raises BadOption."""
    addresses, names = _addresses(env), env.get("HAI_NODE_LIST", "").split(",")
    if name in addresses:
        return addresses.index(name)
    if name in names:
        return names.index(name)
    raise BadOption(f"--{option}: {name!r} is no node of this job; they are {', '.join(addresses)}")


def request_of(found: Words, layout: Layout, env: Mapping[str, str]) -> dict[str, Any]:
    """Return the request to the server: the fields of a `StepPart`. Raises BadOption."""
    given = found.given
    bad_exit = given.get("kill-on-bad-exit", "1")
    wanted = exported(given.get("export", "ALL"), env)
    for option, name in (("cpus-per-task", "SLURM_CPUS_PER_TASK"), ("job-name", "SLURM_JOB_NAME")):
        if option in given:
            wanted[name] = given[option]
    mode = given.get("open-mode", "").lower()
    return {
        "command": found.rest,
        "nodes": list(layout.nodes),
        "counts": list(layout.counts),
        "addresses": _addresses(env),
        "env": wanted,
        "cwd": os.path.abspath(given["chdir"]) if "chdir" in given else os.getcwd(),  # noqa: PTH100
        "label": "label" in given,
        "gpus_per_task": found.number("gpus-per-task") or _whole(env.get("SLURM_GPUS_PER_TASK")),
        "end_others": bad_exit != "0",
        "local_rank": not env.get("HAI_BATCH_SHELL_SIGNAL"),
        "output": given.get("output"),
        "error": given.get("error"),
        # Keep the output of earlier runs of the task.
        "append": mode.startswith("a") or (not mode and env.get("HAI_RESTARTS", "0") != "0"),
    }


def exported(text: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that `--export` selects; Slurm's and HAI's are always included. Raises BadOption."""
    names = [word for word in text.split(",") if word]
    if "ALL" in names or not names:
        wanted = dict(env)
    else:
        always = ("SLURM", "HAI_", "MASTER_", "CUDA_VISIBLE", "NVIDIA_VISIBLE")
        kept = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "WORLD_SIZE")
        wanted = {name: value for name, value in env.items() if name.startswith(always) or name in kept}
    for word in names:
        name, given, value = word.partition("=")
        if name in ("ALL", "NONE", "NIL"):
            continue
        if given:
            wanted[name] = value
        elif name in env:
            wanted[name] = env[name]
    return wanted


# -- this rank's share ----------------------------------------------------------------------------


def _share(request: dict[str, Any]) -> int:
    rank = int(os.environ.get("HAI_RANK", "0"))
    layout = Layout(request.pop("nodes"), request.pop("counts"))
    if rank not in layout.nodes:
        # The step is not on this node.
        return 0
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD, *_PASSED_ON))
    part = StepPart(layout=layout, index=layout.nodes.index(rank), step="0", **request)
    return Launcher(part).run()


# -- a step on all nodes --------------------------------------------------------------------------


def _remote(request: dict[str, Any]) -> int:
    env = os.environ
    if told_to_leave(env):
        print("srun: the task was told to leave: no further step is started", file=sys.stderr)
        return 143
    try:
        channel = wire.find(env["HAI_STEP_SERVER"], wire.read_token(env), env["HAI_RUN_ID"], PATIENCE_S)
    except (OSError, KeyError) as error:
        print(f"srun: the token of this run cannot be read: {error}", file=sys.stderr)
        return 1
    if channel is None:
        print(f"srun: the server of this job at {env['HAI_STEP_SERVER']} does not answer; is it over?", file=sys.stderr)
        return 1
    # Each node sets its own value, unless the script has changed the variable.
    untouched = {"CUDA_VISIBLE_DEVICES": env.get("HAI_BATCH_DEVICES", "")}
    request["env"] = {
        name: value for name, value in request["env"].items() if name not in NODES_OWN and untouched.get(name) != value
    }
    files = _Files(request)
    try:
        channel.send({"role": "step"})
        channel.send(request)
        return _follow(channel, files)
    except (Closed, WireError, OSError) as error:
        print(f"srun: the connection to the server of this job is lost{_why(error)}", file=sys.stderr)
        return 1
    finally:
        channel.close()


def _why(error: Exception) -> str:
    return f": {error}" if str(error) else ""


class _Files:
    """Files that all tasks share, which this process writes. Each node writes the files of its own tasks."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._request = request
        self._patterns: dict[int, str] = {}
        self._fds = {1: 1, 2: 2}
        output, error = request["output"], request["error"] or request["output"]
        for stream, pattern in ((1, output), (2, error)):
            if pattern is not None and not names_tasks(pattern):
                self._patterns[stream] = pattern
        if 1 in self._patterns:
            request["output"] = None
        if 2 in self._patterns:
            request["error"] = None

    def open(self, step: int) -> None:
        """Open the files; the number of the step must be known. Raises OSError."""
        layout = Layout(self._request["nodes"], self._request["counts"])
        fields = {name: value for name, value in self._request.items() if name not in ("nodes", "counts")}
        facts = StepPart(layout=layout, index=0, step=str(step), **fields).facts(0)
        opened: dict[str, int] = {}
        for stream, pattern in self._patterns.items():
            path = file_name(pattern, facts, self._request["cwd"])
            if path not in opened:
                opened[path] = open_file(path, append=self._request["append"])
            self._fds[stream] = opened[path]

    def write(self, output: Output) -> None:
        """Write output to its file."""
        write_all(self._fds.get(output.stream, 2), output.data)


def _follow(channel: Channel, files: _Files) -> int:
    """Print output until the step is over, and return its status. Raises Closed, WireError, OSError."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    threading.Thread(target=_pass_signals_on, args=(channel,), daemon=True).start()
    while True:
        message = channel.receive()
        if isinstance(message, Output):
            files.write(message)
        elif "started" in message:
            files.open(int(message["started"]))
        elif "refused" in message:
            print(f"srun: {message['refused']}", file=sys.stderr)
            return int(message["code"])
        elif "ended" in message:
            return int(message["code"])


def _pass_signals_on(channel: Channel) -> None:
    """Pass a signal on to the tasks, unless the rank's supervisor sent it, which reaches the tasks by itself."""
    tell_tasks_themselves = (supervisor(), _whole(os.environ.get("HAI_BATCH_PID")))
    while True:
        found = signal.sigwaitinfo(_PASSED_ON)
        if found.si_pid not in tell_tasks_themselves:
            try:
                channel.send({"signal": int(found.si_signo)})
            except Closed:
                return
