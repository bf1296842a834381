"""How long a task with PyTorch waits for its environment on Kubernetes: `python -m bench packs`, by hand.

It needs KUBECONFIG, HAI_TEST_CHART_VALUES and HAI_TEST_SHARED_PATH, as tests/kubernetes/test_environments.py does, and
squashfs-tools in the image of servers: packs are left out without. Both nodes of a cluster on one machine, and the
volume, have one disk: what is seen is what a copy costs, and not what a file server far away takes.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.environments import PACKAGES, find_links, requirement
from bench.figures import Report, say
from hai_client.wire.schema import TaskRequest

TOPIC = "Start of a task with PyTorch on Kubernetes"
STARTS = 3
NEEDED = ("KUBECONFIG", "HAI_TEST_CHART_VALUES", "HAI_TEST_SHARED_PATH")
NAME = "torch"
#: Said by a rank: the clock when its first line runs, and when PyTorch is imported. All clocks are this machine's.
CODE = "import time; began = time.time(); import torch; print('imported', began, time.time())"


def measure(report: Report) -> None:
    """Starts from the shared volume, with a copy that must be made, and with one that is there."""
    missing = [name for name in NEEDED if not os.environ.get(name)]
    torch = requirement()
    if missing or torch is None:
        report.skip(TOPIC, f"set {', '.join(missing)}" if missing else "no wheel of PyTorch for CPUs")
        return
    # Imported here: it reads the variables above.
    from kit.kubernetes.environment_site import environment_site

    with tempfile.TemporaryDirectory() as chart, environment_site(Path(chart), local=False) as site:
        _Starts(report, site, torch).measure()


class _Starts:
    """Starts of one task, in each way in which its environment can come to its node."""

    def __init__(self, report: Report, site: object, torch: str) -> None:
        from kit.kubernetes.environment_site import PYTHON, Site

        assert isinstance(site, Site)
        self._report, self._site, self._torch, self._python = report, site, torch, PYTHON

    def measure(self) -> None:
        site = self._site
        say("packs: wheels, and the environment")
        wheels = site.folder / "envs/base/.wheels"
        wheels.mkdir(parents=True, exist_ok=True)
        words = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--dest",
            str(wheels),
            "--find-links",
            find_links(),
        ]
        subprocess.run([*words, self._torch, *PACKAGES], check=True)
        site.start("ann")
        site.in_server("ann", "haienv", "create", NAME, "--no-kernel", "-p", self._python, self._torch, PACKAGES[0])
        self._say("from the shared volume", STARTS)
        say("packs: the chart with copies on the nodes")
        site.platform.helm("--set", f"haienv.local.path={site.folder / 'disk'}")
        site.platform.open()
        # They have the address of the tunnel before.
        site.platform.clients.clear()
        self._say("no pack, so file by file onto the node", STARTS, fresh=True)
        made = site.in_server("ann", "haienv", "pack", NAME, check=False)
        if "pack.squashfs" in made:
            say(f"packs: {made.strip().splitlines()[-1]}")
            self._say("a pack, unpacked onto the node", STARTS, fresh=True)
        else:
            self._report.skip(f"{TOPIC}, from a pack", made.strip().splitlines()[-1])
        self._say("the copy is on the node already", STARTS)

    def _say(self, way: str, starts: int, *, fresh: bool = False) -> None:
        began, imported = [], []
        for at in range(starts):
            say(f"packs: {way}, {at + 1} of {starts}")
            if fresh:
                self._forget()
            first, last = self._start()
            began.append(first)
            imported.append(last)
        seen = ", ".join(f"{one:.1f}" for one in began)
        self._report.add(TOPIC, f"{way}: until the script runs", statistics.median(began), "s", seen)
        seen = ", ".join(f"{one:.1f}" for one in imported)
        self._report.add(TOPIC, f"{way}: until PyTorch is imported", statistics.median(imported), "s", seen)

    def _forget(self) -> None:
        for copy in (self._site.folder / "disk").iterdir():
            subprocess.run(["chmod", "-R", "u+w", str(copy)], check=True)
            if copy.is_dir():
                shutil.rmtree(copy)

    def _start(self) -> tuple[float, float]:
        """Seconds from the submission until the script's first line runs, and until PyTorch is imported."""
        request = TaskRequest(name="starts", command=("python", "-c", CODE), cwd="/", environment=NAME)
        submitted = time.time()
        task = self._site.platform.client("ann").submit(request)
        self._site.until(task, "succeeded")
        [(first, last)] = re.findall(r"imported ([0-9.]+) ([0-9.]+)", self._site.log(task))
        return float(first) - submitted, float(last) - submitted


__all__ = ["measure"]
