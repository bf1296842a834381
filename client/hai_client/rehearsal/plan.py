"""What is rehearsed."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping, Sequence


@dataclass(frozen=True)
class RehearsalPlan:
    """A rehearsal. Lengths of time are seconds."""

    command: Sequence[str]
    #: The folder to start in, from the root.
    cwd: str
    #: `HAI_CHECKPOINT_DIR`: the same for both runs.
    checkpoints: Path
    profile: str
    #: To the notice, from the command's start or, with `when`, from the line that has it.
    after_s: float
    #: From the notice to the deadline.
    grace_s: float
    #: A text: the first run is told to leave after it has printed a line with that.
    when: str | None = None
    #: How long the second run may go on, seconds; None: until it is known where it resumed from, up to a limit.
    then_s: float | None = None
    #: Files and folders, from the root, whose changes count as checkpoints too.
    watch: Sequence[str] = ()
    #: The signal without SIG; None: what the profile says.
    signal: str | None = None
    signal_before_s: float | None = None
    #: What the first run finds in `job.state`.
    state: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    gpus: int = 0
    #: A free port, for `MASTER_PORT`.
    port: int = 29500


def free_port() -> int:
    """Return a TCP port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def visible_gpus(environ: Mapping[str, str]) -> int:
    """How many NVIDIA GPUs the command will see: those of `CUDA_VISIBLE_DEVICES`, else all of the machine."""
    chosen = environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return len([word for word in chosen.split(",") if word.strip() and not word.strip().startswith("-")])
    try:
        return len([name for name in os.listdir("/dev") if re.fullmatch(r"nvidia[0-9]+", name)])  # noqa: PTH208
    except OSError:
        return 0
