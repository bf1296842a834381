"""The plan of a rehearsal."""

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
    cwd: str  #: Absolute path of the folder to start in.
    checkpoints: Path  #: `HAI_CHECKPOINT_DIR`: the same for both runs.
    profile: str
    after_s: float  #: From the command's start to the notice; with `when`, from the line with that text.
    grace_s: float  #: From the notice to the deadline.
    #: The first run gets the notice after it has printed a line with this text; None: it does not matter.
    when: str | None = None
    #: Time limit of the second run, seconds; None: until it is known where it resumed from, up to a limit.
    then_s: float | None = None
    watch: Sequence[str] = ()  #: Absolute paths of files and folders whose changes also count as checkpoints.
    signal: str | None = None  #: The signal without SIG; None: the profile's signal.
    signal_before_s: float | None = None
    state: str | None = None  #: The value of `job.state` in the first run.
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    gpus: int = 0
    port: int = 29500  #: A free port, for `MASTER_PORT`.


def free_port() -> int:
    """Return a TCP port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def visible_gpus(environ: Mapping[str, str]) -> int:
    """Return the number of NVIDIA GPUs that the command will see: those of `CUDA_VISIBLE_DEVICES`, else all."""
    chosen = environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return len([word for word in chosen.split(",") if word.strip() and not word.strip().startswith("-")])
    try:
        return len([name for name in os.listdir("/dev") if re.fullmatch(r"nvidia[0-9]+", name)])  # noqa: PTH208
    except OSError:
        return 0
