"""The parts with PyTorch: a training that is interrupted and resumed, and a profile of one."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

from gpu.table import NotShown
from gpu.up import ROOT, Tasks
from kit.waiting import wait_for

SCRIPT = ROOT / "examples" / "train_ddp.py"
ASK = "import torch, numpy; print(torch.__version__, torch.cuda.is_available())"
STEPS = 400


@dataclass(frozen=True)
class Torch:
    """A Python with PyTorch, and whether its PyTorch sees a GPU."""

    python: str
    version: str
    cuda: bool


def find(python: str | None) -> Torch:
    """Return the first Python whose PyTorch sees a GPU: of those that are usual, or the one that is named.

    Raises:
        NotShown: There is none.
    """
    usual = [f"{ROOT}/.venv/bin/python", f"{ROOT}/.venv-frameworks/bin/python", sys.executable, shutil.which("python3")]
    tried = list(dict.fromkeys(filter(None, [python] if python else usual)))
    for one in tried:
        if (known := ask(one)) is not None and known.cuda:
            return known
    raise NotShown(
        f"PyTorch that sees a GPU, with NumPy, is in none of {', '.join(tried)}: install it there (pip install torch"
        " numpy), or name the Python that has it: make gpu ARGS='--python PATH'"
    )


def ask(python: str) -> Torch | None:
    """Return what a Python has of PyTorch; None: nothing."""
    try:
        done = subprocess.run([python, "-c", ASK], capture_output=True, text=True, timeout=120, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    version, cuda = done.stdout.split()[-2:]
    return Torch(python, version, cuda == "True")


def resumed(tasks: Tasks, torch: Torch) -> str:
    """A DDP training that is interrupted ends with the same loss as one that is not."""
    words = ["--steps", str(STEPS), "--seconds-per-step", "0.02"]
    whole = _train(tasks, torch, *words)
    tasks.over(whole)
    task = _train(tasks, torch, *words)
    tasks.line(task, "step 100/")
    tasks.over(tasks.submit("true", priority="VERY_HIGH"))
    runs = tasks.over(task).runs
    log, other = tasks.log(whole), [line for run in runs for line in tasks.log(task, run.number)]
    at = _last(other, r"resumed at step (\d+)")
    losses, weights = (
        {_last(lines, pattern) for lines in (log, other)}
        for pattern in (rf"step {STEPS}/{STEPS} loss (\S+)", r"weights sha256 (\w+)")
    )
    assert len(losses) == 1, f"the losses without and with an interruption at step {at} are {losses}"
    where = "NCCL " + _last(log, r"NCCL version (\S+)") if torch.cuda else "gloo, on processors"
    return (
        f"PyTorch {torch.version}, {where}, {tasks.gpus} processes: left as {runs[0].left}, resumed at step {at} of"
        f" {STEPS}, loss {losses.pop()} as without; the weights are {'' if len(weights) == 1 else 'not '}the same to"
        " the last bit"
    )


def profiled(tasks: Tasks, torch: Torch) -> str:
    """`hai profile` of a training on a GPU has CUDA's kernels."""
    client, task = tasks.client, _train(tasks, torch, "--steps", "1000000", "--seconds-per-step", "0.005")
    tasks.line(task, "step 50/")
    number = client.profile(task, seconds=3).id
    look = lambda: client.profile_of(task, number)  # noqa: E731
    made = wait_for("the recording", look, 90, met=lambda one: one.state != "recording")
    assert made.state == "done", "; ".join(part.message or part.state for part in made.parts)
    trace = made.parts[0].traces[0]
    events = json.loads(gzip.decompress(client.trace(task, number, 0, trace.number)))["traceEvents"]
    kernels = [event["name"] for event in events if event.get("cat") == "kernel"]
    summary = trace.summary
    assert summary is not None, f"the trace cannot be summed up: {trace.fault}"
    told = f"{len(kernels)} kernels, {sum('nccl' in name for name in kernels)} of NCCL, on {summary.device}"
    assert not torch.cuda or (kernels and summary.device == "gpu"), f"{told}: {summary.notes}"
    busy = "" if summary.gpu_busy is None else f", the GPU busy for {summary.gpu_busy:.1%}"
    return f"{told}: {summary.steps} steps of {summary.step_s * 1000:.2f} ms{busy}; {trace.size >> 10} KiB"


def _train(tasks: Tasks, torch: Torch, *words: str) -> int:
    return tasks.submit(torch.python, "-m", "torch.distributed.run", str(SCRIPT), *words)


def _last(lines: list[str], pattern: str) -> str:
    found = [match[1] for line in lines if (match := re.search(pattern, line))]
    assert found, f"no line is like {pattern!r}: {' / '.join(lines[-8:])}"
    return found[-1]
