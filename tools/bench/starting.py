"""Seconds until the platform is ready."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from bench.figures import Report
from e2e.conftest import ROOT, Platform, processes_with
from kit.ports import free_port

TOPIC = "starting and stopping"
COLD_S = 1200


def start(platform: Platform) -> float:
    """Seconds from `hai up` to ready."""
    began = time.perf_counter()
    platform.start()
    return time.perf_counter() - began


def stop(platform: Platform) -> float:
    """Seconds from Ctrl-C to the end."""
    began = time.perf_counter()
    platform.interrupt()
    return time.perf_counter() - began


def cold(report: Report, folder: Path) -> None:
    """`make up` in a fresh clone of HEAD, with empty download caches."""
    folder.mkdir()
    clone, port = folder / "clone", free_port()
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(clone)], check=True)
    env = Platform(folder, nodes=1).env
    env |= {"PIP_CACHE_DIR": str(folder / "pip"), "npm_config_cache": str(folder / "npm")}
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "VIRTUAL_ENV", "PYTHONPATH"):
        env.pop(name, None)
    output = folder / "up.log"
    began = time.perf_counter()
    with output.open("w") as log:
        made = subprocess.Popen(
            ["make", "up", f"ARGS=--port {port} --state-dir {folder / 'state'} --user ann"],
            cwd=clone, env=env, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    try:
        while "HAI is ready" not in output.read_text():
            if made.poll() is not None or time.perf_counter() - began > COLD_S:
                report.skip("cold make up", f"it did not get ready: {output.read_text()[-500:]!r}")
                return
            time.sleep(0.1)
        report.add(TOPIC, "`make up` in a fresh clone", time.perf_counter() - began, "s", "empty download caches")
    finally:
        _end(made, folder)


def _end(made: subprocess.Popen[bytes], folder: Path) -> None:
    """End the process as Ctrl-C in a terminal does, and check that no process is left."""
    if made.poll() is None:
        os.killpg(made.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        made.wait(60)
    for pid in processes_with(str(folder)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
