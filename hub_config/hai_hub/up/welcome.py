"""What `hai up` says when it is ready: parts that depend on this machine and this terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from hai_hub.config.settings import HubSettings, bracketed
from hai_hub.up.certificate import Certificate

#: The training to try first: one of the examples.
TRAINING: Final = "train_digits.py"
_HTTPS: Final = 443
_COUNT: Final = "from hai_client.metrics import nvml; print(len(nvml.indices()))"


def nodes_of(gpus: Sequence[int], real: int) -> str:
    """Return the nodes in words, such as `4, each with 1 simulated GPU`.

    Args:
        gpus: The number of GPUs of each node.
        real: How many GPUs this machine has: if the nodes have more, all are simulated.
    """
    if not any(gpus):
        return str(len(gpus))
    kind = "simulated GPU" if sum(gpus) > real else "GPU"
    if len(set(gpus)) > 1:
        return f"{len(gpus)}, with {sum(gpus)} {kind}s in all"
    each = f"{gpus[0]} {kind}{'' if gpus[0] == 1 else 's'}"
    return f"1, with {each}" if len(gpus) == 1 else f"{len(gpus)}, each with {each}"


def real_gpus(patience_s: float = 10.0) -> int:
    """Return how many GPUs of NVIDIA HAI may use here; 0 if their driver does not answer in that time."""
    # In a process of its own: a driver that hangs must not keep `hai up` from being ready.
    words = [sys.executable, "-P", "-c", _COUNT]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        out, _ = process.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.stdout.close()
        # One that hangs in the kernel does not end.
        with suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
        return 0
    return 0 if process.returncode else int(out)


def addresses(settings: HubSettings) -> list[str]:
    """Return the lines with the address for users and, if that has HTTPS, what else must be known of it."""
    if settings.certificate is None or settings.certificate_key is None:
        return [f"  address   {settings.url}"]
    certificate = Certificate(settings.certificate, settings.certificate_key)
    port = "" if settings.https_port == _HTTPS else f":{settings.https_port}"
    host = certificate.name() or bracketed(settings.https_ip or socket.getfqdn())
    lines = [
        f"  address   {f'https://{host}{port}{settings.base_url}'.rstrip('/')}",
        f"            {settings.url}   (on this machine, without HTTPS)",
    ]
    return lines if (caution := certificate.caution()) is None else [*lines, f"            {caution}"]


def haienv_export(root: Path | None) -> list[str]:
    """Return the line with which `haienv` sees the platform's environments where this shell names others, else none."""
    named = os.environ.get("HAIENV_ROOT") or os.environ.get("HAIENV_PATH")
    if root is None or named in (None, "", str(root)):
        return []
    return [f"  export HAIENV_ROOT={shlex.quote(str(root))}   # this terminal has {named}"]


def activation() -> list[str]:
    """Return the line that activates the virtual environment in a new terminal; empty if `hai` is found without it."""
    activate = Path(sys.prefix) / "bin" / "activate"
    found = shutil.which("hai")
    # pipx and uv put a link on PATH.
    if not activate.exists() or (found and Path(found).resolve().parent.samefile(activate.parent)):
        return []
    return [f"  source {shlex.quote(_shown(activate))}"]


def training() -> str:
    """Return the path of the training to try first: that of a checkout in this folder, else the one of `hai-lab`."""
    here, lab = Path("examples") / TRAINING, find_spec("hai_lab")
    if here.exists() or lab is None or lab.origin is None:
        return str(here)
    return shlex.quote(_shown(Path(lab.origin).with_name("example_files") / TRAINING))


def _shown(path: Path) -> str:
    """Return a path as somebody types it who is in this folder."""
    here = Path.cwd()
    # A service starts in the root folder, where nobody types.
    return str(path.relative_to(here) if path.is_relative_to(here) and here != Path("/") else path)
