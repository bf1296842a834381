"""Turns the options of a batch script into a task of HAI."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
from collections.abc import Mapping
from typing import Any

from hai_client import constants, names
from hai_client.backports import without_prefix
from hai_client.errors import Invalid
from hai_client.texts import is_text, quoted, visible
from hai_client.wire.schema import TaskRequest
from hai_slurm.shared.getting import BadOption
from hai_slurm.shared.options import Words
from hai_slurm.users.script import UTF_8, Script

_TIME = re.compile(r"(\d+)-(?:(\d+)(?::(\d+)(?::(\d+))?)?)?|(\d+)(?::(\d+)(?::(\d+))?)?")
_SIGNAL = re.compile(r"(?:([BR]{1,2}):)?(?:SIG)?([A-Z]+[12]?|\d+)(?:@(\d+))?", re.IGNORECASE)
_SIGNALS = ("USR1", "USR2", "TERM", "INT")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Variables of the login session, of HAI and of Slurm, which are not passed on to the job.
_NOT_EXPORTED = re.compile(
    r"(HAI|JUPYTER|JUPYTERHUB|JPY|CONFIGPROXY|SLURM|SBATCH|SRUN|PET|SSH|XDG|DBUS|TMUX|VSCODE)_.*"
    r"|RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|NODE_RANK|MASTER_(ADDR|IP|PORT)|_|PWD|OLDPWD|SHLVL|TERM|DISPLAY"
    r"|HOME|USER|LOGNAME|SHELL|HOSTNAME|LS_COLORS|PS[1-4]|PATH|CUDA_VISIBLE_DEVICES|NVIDIA_VISIBLE_DEVICES|TMPDIR"
)


@dataclasses.dataclass(frozen=True)
class SlurmRequest:
    """A task to submit, and the options for `hai-batch`."""

    fields: dict[str, Any]
    batch: tuple[str, ...]
    notes: tuple[str, ...]

    def request(self, script: Script) -> TaskRequest:
        """Return the task whose command runs the script."""
        named = [f"--script={visible(script.file)}"] if script.file else []
        named += [] if script.encoding == UTF_8 else [f"--encoding={script.encoding}"]
        command = ("hai-batch", *named, *self.batch, "--", script.text, *script.arguments)
        return TaskRequest(command=command, **self.fields)


def asked(words: Words, *, name: str, cwd: str, env: Mapping[str, str]) -> SlurmRequest:
    """Return what the options ask for. Raises BadOption, Invalid.

    Args:
        words: The parsed options.
        name: The task's name, unless an option gives one.
        cwd: The folder in which `sbatch` was called.
        env: The environment variables of the caller.
    """
    given = words.given
    nodes, per_node = nodes_of(words)
    gpus = gpus_of(words, nodes, per_node)
    if gpus and "ntasks-per-gpu" in given and not {"ntasks", "ntasks-per-node"} & given.keys():
        given["ntasks-per-node"] = str(gpus * (words.number("ntasks-per-gpu") or 1))
    exported, batch, left_out = exports(given.get("export", "ALL"), env)
    folder = os.path.normpath(os.path.join(cwd, given.get("chdir", "")))  # noqa: PTH118 -- links are kept
    saves = given.get("checkpoint-dir")
    fields: dict[str, Any] = {
        "name": names.make_name(given.get("job-name") or name.rpartition(".")[0] or name),
        "cwd": folder,
        "checkpoint_dir": os.path.normpath(os.path.join(folder, saves)) if saves else None,  # noqa: PTH118
        "nodes": nodes,
        "gpus": gpus,
        "group": given.get("partition", "training").partition(",")[0],
        "env": exported,
        "profile": "slurm",
        "hold": "hold" in given,
        "time_limit_s": seconds_of(given["time"]) if "time" in given else None,
        "tags": (given["comment"][:128],) if given.get("comment") else (),
    }
    notes = [*words.notes, *left_out]
    if "qos" in given:
        fields["priority"], said = priority_of(given["qos"])
        notes += said
    for option in ("ntasks", "ntasks-per-node", "cpus-per-task", "gpus-per-task", "output", "error", "open-mode"):
        if option in given:
            batch.append(f"--{option}={given[option]}")
    if "signal" in given:
        shell, word, before = signal_of(given["signal"])
        batch += ["--signal-shell"] if shell else []
        fields["grace_s"] = before
        fields["signal"] = word
        batch.append(f"--notice={word}")
        fields["env"].setdefault("SUBMITIT_PREEMPT_SIGNAL", word)
    return SlurmRequest(fields, tuple(batch), tuple(notes))


def nodes_of(words: Words) -> tuple[int, int]:
    """Return the number of nodes, and of tasks on each node. Raises BadOption."""
    per_node = words.number("ntasks-per-node")
    ntasks = words.number("ntasks")
    if "nodes" in words.given:
        # Take the least number of a range: a gang of that size starts first.
        words.given["nodes"] = words.given["nodes"].partition("-")[0]
        nodes = words.number("nodes") or 1
    else:
        nodes = -(-ntasks // per_node) if ntasks and per_node else 1
    return nodes, per_node or (-(-ntasks // nodes) if ntasks else 1)


def gpus_of(words: Words, nodes: int, per_node: int) -> int | None:
    """Return the number of GPUs on each node; None: whole nodes, as for `--gpus=0`. Raises BadOption."""
    given = words.given
    if "gpus-per-node" in given:
        return _gpus(given["gpus-per-node"], "gpus-per-node") or None
    if "gres" in given:
        return _gres(given["gres"])
    if "gpus" in given:
        total = _gpus(given["gpus"], "gpus")
        if total % nodes:
            raise BadOption(f"--gpus={total}: {nodes} nodes cannot share them evenly; say --gpus-per-node")
        return total // nodes or None
    if "gpus-per-task" in given:
        each = _gpus(given["gpus-per-task"], "gpus-per-task")
        given.pop("gpus-per-task")
        if not each:
            return None
        given["gpus-per-task"] = str(each)
        return each * per_node
    each_gpu, ntasks = words.number("ntasks-per-gpu"), words.number("ntasks")
    return -(-ntasks // (nodes * each_gpu)) if each_gpu and ntasks else None


def _gpus(text: str, option: str) -> int:
    count = "0" if text.lower() == "none" else text.rpartition(":")[2]
    if not re.fullmatch(r"[0-9]{1,5}", count):
        raise BadOption(f"--{option}={text}: give a number of GPUs")
    return int(count)


def _gres(text: str) -> int | None:
    total = 0
    for part in text.split(","):
        kind, *rest = without_prefix(part, "gres:").split(":")
        if kind == "none":
            continue
        if kind != "gpu":
            raise BadOption(f"--gres={text}: HAI gives out GPUs alone; leave {kind!r} out")
        count = rest[-1].partition("(")[0] if rest else "1"
        total += int(count) if count.isdigit() else 1
    return total or None


def seconds_of(text: str) -> float | None:
    """Return the seconds of a time in Slurm's notation; None: no limit. Raises BadOption."""
    if text.upper() in ("UNLIMITED", "INFINITE", "-1"):
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise BadOption(f"--time={text}: write minutes, [HOURS:]MINUTES:SECONDS or DAYS-[HOURS[:MINUTES[:SECONDS]]]")
    days = match[1]
    numbers = [int(part) for part in match.groups()[1 if days else 4 :] if part is not None]
    # After days, the first number is hours. One number is minutes, two are minutes and seconds.
    scale = (3600, 60, 1) if days or len(numbers) == 3 else (60, 1)
    seconds = int(days or 0) * 86400 + sum(number * unit for number, unit in zip(numbers, scale))
    return float(seconds) or None


def signal_of(text: str) -> tuple[bool, str, float | None]:
    """Return whether only the shell gets the signal, the signal, and the seconds before the end. Raises BadOption."""
    match = _SIGNAL.fullmatch(text)
    word = match.group(2).upper() if match else ""
    if word.isdigit():
        try:
            word = without_prefix(signal.Signals(int(word)).name, "SIG")
        except ValueError:
            word = ""
    if match is None or word not in _SIGNALS:
        raise BadOption(f"--signal={text}: HAI sends {', '.join(_SIGNALS)}; write for example --signal=B:USR1@120")
    before = match.group(3)
    return "B" in (match.group(1) or "").upper(), word, float(before) if before else None


def priority_of(text: str) -> tuple[str, list[str]]:
    """Return the priority for a quality of service, and a message for the user."""
    try:
        return names.parse_priority(text), []
    except Invalid:
        known = ", ".join([*constants.PRIORITIES, constants.AUTO])
        return "NORMAL", [f"--qos={text} is left out: it is no priority of HAI's; they are {known}"]


def exports(text: str, env: Mapping[str, str]) -> tuple[dict[str, str], list[str], list[str]]:
    """Return the variables of the task, the caller's PATH for `hai-batch`, and what is left out. Raises BadOption.

    What nobody has named is left out if it is not UTF-8: it must not keep the shell that it is set in from submitting.
    """
    everything = {
        name: value for name, value in env.items() if _VARIABLE.fullmatch(name) and not _NOT_EXPORTED.fullmatch(name)
    }
    words = [word for word in text.split(",") if word]
    whole = "ALL" in words or not words
    chosen = {name: value for name, value in everything.items() if whole and is_text(value)}
    notes = [
        f"the variable {name} is left out: its value, '{visible(value)}', is not UTF-8"
        for name, value in everything.items()
        if whole and not is_text(value)
    ]
    path = env.get("PATH", "") if whole else ""
    for word in words:
        name, given, value = word.partition("=")
        if word in ("ALL", "NONE", "NIL"):
            continue
        if _VARIABLE.fullmatch(name) is None:
            raise BadOption(f"--export={visible(text)}: {quoted(name)} is no name of a variable")
        if name == "PATH":
            path = value if given else env.get("PATH", "")
        elif given:
            chosen[name] = value
        elif name in env:
            chosen[name] = env[name]
    if not is_text(path):
        parts = path.split(os.pathsep)
        notes += [f"PATH: '{visible(part)}' is left out: it is not UTF-8" for part in parts if not is_text(part)]
        path = os.pathsep.join(part for part in parts if is_text(part))
    return chosen, [f"--path={path}"] if path else [], notes
