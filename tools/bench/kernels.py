"""What the kernels of environments add to a start: of JupyterLab's server, and of a development container.

Starts without environments and with 200 of them go in turn, so that what else the machine does meets both alike. What
counts is the median of the differences, beside the spread of the starts without environments: a difference within the
spread is none that anybody could see.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from bench.environments import SAMPLE
from bench.figures import Report, percentile, say
from e2e.conftest import Platform
from haienv.store import kernels
from haienv.store.layout import EnvFolder
from haienv.store.names import USERS, EnvName, Owner
from kit.ports import free_port

ENVIRONMENTS = 200
#: How often each start is measured, without environments and with them.
LABS, CONTAINERS = 9, 5
USER, PASSWORD = "ann", "a long enough word"
TOPIC = f"What the kernels of {ENVIRONMENTS} environments add to a start"
#: Longest wait for a server, seconds, and the time between two questions.
PATIENCE_S, EVERY_S = 180.0, 0.02


class _Start(NamedTuple):
    """One start of JupyterLab's server, seconds."""

    answered: float
    answered_processor: float
    listed: float
    #: What the list alone took.
    listed_processor: float


#: What each of these is, in a report. What the processor did is the same on a busy machine.
_STARTS = {
    "answered": "JupyterLab's server until it answers",
    "answered_processor": "the same in time of the processor",
    "listed": "until it has listed all kernels",
    "listed_processor": "the list alone in time of the processor",
}


def measure(report: Report) -> None:
    """Starts of JupyterLab's server alone, then of the same server as a container of a whole platform."""
    with tempfile.TemporaryDirectory(prefix="hai-bench-kernels-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        _labs(report, folder)
        _containers(report, folder)


def publish(root: Path, count: int = ENVIRONMENTS) -> None:
    """Make environments of which all is there that Jupyter and a start can look at: manifest, kernel and its link."""
    for at in range(count):
        env = EnvFolder(root, EnvName(Owner(USERS, USER), f"env-{at:03}"))
        generation = env.generation(1)
        generation.folder.mkdir(parents=True)
        replace(SAMPLE, name=str(env.name)).write(generation.manifest)
        kernels.write(generation, env.name, {}, SAMPLE.python)
        env.current_link.symlink_to("generations/1")
        kernels.offer(env)


def _labs(report: Report, folder: Path) -> None:
    """JupyterLab's server as a process: until it answers, and until it has listed the kernels."""
    publish(folder / "root")
    offered = kernels.jupyter_folder(folder / "root" / USERS / USER)
    (folder / "empty").mkdir()
    without: list[_Start] = []
    with_all: list[_Start] = []
    for at in range(LABS):
        say(f"haienv: JupyterLab without and with {ENVIRONMENTS} kernels, {at + 1} of {LABS}")
        # The first of a pair finds the machine as the pair before has left it.
        pair = [(folder / "empty", without, 0), (offered, with_all, ENVIRONMENTS)]
        for path, times, kinds in pair if at % 2 == 0 else reversed(pair):
            times.append(_lab(folder, path, kinds))
    for name, what in _STARTS.items():
        _compare(report, what, [getattr(one, name) for one in without], [getattr(one, name) for one in with_all])


def _lab(folder: Path, path: Path, expected: int) -> _Start:
    """Start a server, and have it list its kernels; those of environments are counted."""
    home = folder / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    port, token = free_port(), "measured-here-alone"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JUPYTER", "HAI", "XDG"))}
    words = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ServerApp.ip=127.0.0.1", f"--port={port}"]
    words += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={home}", "--allow-root"]
    began = time.perf_counter()
    with (folder / "lab.log").open("w") as log:
        server = subprocess.Popen(
            words, env={**kept, "HOME": str(home), "JUPYTER_PATH": str(path)}, cwd=home,
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            _until(lambda: _asked(port, "/api", token), server)
            answered, used = time.perf_counter() - began, _processor(server.pid)
            listed = _asked(port, "/api/kernelspecs", token)
            start = _Start(answered, used, time.perf_counter() - began, _processor(server.pid) - used)
        finally:
            server.terminate()
            server.wait(PATIENCE_S)
    assert listed is not None
    _check(listed, expected)
    return start


def _processor(pid: int) -> float:
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _containers(report: Report, folder: Path) -> None:
    """A user's server, started by the Hub of a platform: until the Hub says that it is ready."""
    platform = Platform(folder, nodes=1)
    root = folder / "state" / "haienv"
    aside = folder / "aside"
    publish(aside)
    times: dict[int, list[float]] = {0: [], ENVIRONMENTS: []}
    try:
        say("haienv: a platform for development containers")
        platform.start()
        login = {"note": "bench", "auth": {"username": USER, "password": PASSWORD}}
        token = platform.ask_hub("POST", f"/users/{USER}/tokens", login)["token"]
        # The first start makes the home and what else is made once.
        _container(platform, root, token, None)
        for at in range(CONTAINERS):
            say(f"haienv: containers without and with {ENVIRONMENTS} environments, {at + 1} of {CONTAINERS}")
            for count in (0, ENVIRONMENTS) if at % 2 == 0 else (ENVIRONMENTS, 0):
                times[count].append(_container(platform, root, token, aside if count else None))
    finally:
        platform.end()
    _compare(report, "a development container, until the Hub says ready", times[0], times[ENVIRONMENTS])


def _container(platform: Platform, root: Path, token: str, aside: Path | None) -> float:
    """Start the user's server and stop it; seconds until it is ready. `aside` has the environments to start it with."""
    own = root / USERS / USER
    if aside is not None:
        with suppress(FileNotFoundError):
            own.rename(root.parent / "own")
        own.parent.mkdir(parents=True, exist_ok=True)
        (aside / USERS / USER).rename(own)
    try:
        began = time.perf_counter()
        platform.ask_hub("POST", f"/users/{USER}/server", token=token)
        _until(lambda: _server(platform, token).get("ready"), platform.process)
        took = time.perf_counter() - began
        listed = _asked(platform.port, f"/user/{USER}/api/kernelspecs", token)
        assert listed is not None
        _check(listed, ENVIRONMENTS if aside is not None else 0)
        platform.ask_hub("DELETE", f"/users/{USER}/server", token=token)
        _until(lambda: not _server(platform, token), platform.process)
    finally:
        if aside is not None:
            own.rename(aside / USERS / USER)
            with suppress(FileNotFoundError):
                (root.parent / "own").rename(own)
    return took


def _server(platform: Platform, token: str) -> dict[str, Any]:
    found: dict[str, Any] = platform.ask_hub("GET", f"/users/{USER}", token=token)["servers"].get("", {})
    return found


def _asked(port: int, path: str, token: str) -> Any:
    """The answer of a server as JSON; None: it does not answer yet."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", path, headers={"Authorization": f"token {token}"})
        answer = connection.getresponse()
        content = answer.read()
        return json.loads(content) if answer.status == 200 else None
    except ConnectionError:
        return None
    finally:
        connection.close()


def _until(reached: Callable[[], object], process: subprocess.Popen[Any] | None) -> None:
    ends = time.perf_counter() + PATIENCE_S
    while not reached():
        if process is None or process.poll() is not None or time.perf_counter() > ends:
            raise RuntimeError("the server did not get ready: its log is in the folder of the measurement")
        time.sleep(EVERY_S)


def _check(listed: Any, expected: int) -> None:
    found = sum(1 for name in listed["kernelspecs"] if name.startswith("haienv-"))
    if found != expected:
        raise RuntimeError(f"the server offers {found} kernels of environments, and {expected} are there")


def _compare(report: Report, name: str, without: Sequence[float], with_all: Sequence[float]) -> None:
    """Add the median without environments, its spread, and the median of the differences of each pair."""
    spread = percentile(without, 75) - percentile(without, 25)
    between = [more - less for less, more in zip(without, with_all, strict=True)]
    report.add(TOPIC, f"{name}: without environments", statistics.median(without), "s", f"median of {len(without)}")
    report.add(TOPIC, f"{name}: spread of these starts", spread * 1000, "ms", "from the first to the third quarter")
    report.add(
        TOPIC, f"{name}: what {ENVIRONMENTS} kernels add", statistics.median(between) * 1000, "ms",
        f"each pair: {', '.join(f'{one * 1000:+.0f}' for one in between)}",
    )  # fmt: skip


__all__ = ["measure", "publish"]
