"""Run helm and kubectl as programs, and turn their errors into one line."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hai_client.errors import HaiError, Invalid
from hai_hub.cluster.chart import Chart

#: Program that asks the scheduler from within the Hub's pod, and prints in one line why it is not ready.
_ASK = """
import os, sys, urllib.error, urllib.request
try:
    urllib.request.urlopen(os.environ["HAI_API_URL"] + "/health/ready", timeout=10)
except urllib.error.HTTPError as error:
    sys.exit(f"status {error.code}: {error.read(500).decode(errors='replace')}")
except OSError as error:
    sys.exit(f"{error}")
"""
_PAUSE_S = 1.0
#: What Helm says of an object that was not made by the release.
NOT_OURS = re.compile(r'(\w+) "([^"]+)" in namespace "[^"]*" exists and cannot be imported into the current release')
#: What Helm says while another one works on the release, or when one was interrupted there.
_LOCKED = re.compile(r"another operation .*is in progress")
_NO_RELEASE = re.compile(r"release: not found|has no deployed releases")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A Helm release of the chart, installed or to be installed."""

    name: str  #: Name of the release.
    namespace: str  #: Namespace in which the platform runs.
    context: str | None = None  #: Context of kubeconfig; None: the current one.

    def helm(self, *words: str) -> str:
        """Run helm on this release's cluster and namespace; returns its output.

        Raises:
            Invalid: helm is not installed, an object of the chart is there already and is not the release's, or another
                helm works on the release, or was interrupted.
            HaiError: helm failed; the message has its error.
        """
        try:
            return run_program(
                "helm", "install Helm 3.14 or newer (https://helm.sh), or run `make helm`", [*words, *self._where]
            )
        except HaiError as error:
            if (found := NOT_OURS.search(error.message)) is not None:
                raise Invalid(_there(*found.groups())) from None
            if _LOCKED.search(error.message):
                raise Invalid(
                    f"another helm works on {self.name}, or was interrupted: wait for it; if there is none, "
                    f"`{self.way_back()}`, then try again"
                ) from None
            raise

    @property
    def _where(self) -> list[str]:
        return ["--namespace", self.namespace, *(["--kube-context", self.context] if self.context else [])]

    def way_back(self, *, wait: str = "10m") -> str:
        """Return the command that leads back to the revision that is installed now, or removes one that never was.

        Raises:
            HaiError: The cluster does not answer, or there is no release.
        """
        history = json.loads(self.helm("history", self.name, "--output", "json"))
        for status in ("deployed", "superseded"):
            if found := [int(one["revision"]) for one in history if one["status"] == status]:
                return self.typed("rollback", self.name, str(max(found)), "--wait", "--timeout", wait)
        return self.typed("uninstall", self.name)

    def typed(self, *words: str) -> str:
        """Return what a person types to run helm on this release's cluster and namespace."""
        return shlex.join(["helm", *words, *self._where])

    def kubectl(self, *words: str, namespace: str | None = None) -> str:
        """Run kubectl, in the release's namespace or another; returns its output. Raises as `helm` does."""
        where = ["--context", self.context] if self.context else []
        return run_program(
            "kubectl", "install kubectl, or run `make helm`", [*where, "-n", namespace or self.namespace, *words]
        )

    def manifest(self) -> str | None:
        """Return the manifest of the installed objects; None if nothing is installed.

        Raises:
            HaiError: The cluster does not answer.
        """
        try:
            return self.helm("get", "manifest", self.name)
        except HaiError as error:
            if _NO_RELEASE.search(error.message):
                return None
            raise

    def rendered(self, chart: Chart, files: Sequence[str], *, reset: bool = False) -> str:
        """Return the manifest that `install` would install, with kept secrets from the cluster. Raises HaiError."""
        words = ["upgrade", self.name, str(chart.folder), "--install", "--dry-run=server", "--output", "json"]
        return str(json.loads(self.helm(*words, *_values(files, reset)))["manifest"])

    def install(self, chart: Chart, files: Sequence[str], *, wait: str, reset: bool = False) -> None:
        """Install or upgrade. Raises HaiError.

        Args:
            chart: The chart.
            files: Files of values.
            wait: How long to wait until all is ready, as Helm reads it.
            reset: Whether the values of the last installation do not hold where the files do not change them.
        """
        words = ["upgrade", self.name, str(chart.folder), "--install", "--create-namespace", "--history-max", "10"]
        self.helm(*words, "--wait", "--timeout", wait, "--output", "json", *_values(files, reset))

    def kept(self) -> str:
        """Return the values that were chosen at the last installation, as YAML. Raises HaiError."""
        return self.helm("get", "values", self.name, "--output", "yaml")

    def notes(self) -> str:
        """Return the chart's notes: what to do next."""
        return self.helm("get", "notes", self.name).removeprefix("NOTES:").strip()

    def values(self) -> dict[str, Any]:
        """Return all values of the installation, with the defaults."""
        return dict(yaml.safe_load(self.helm("get", "values", self.name, "--all")) or {})

    def until_scheduler_answers(self, *, within: float) -> None:
        """Wait until the scheduler is ready to serve: its database answers, and it has read the cluster.

        The question is sent from the Hub's pod, because network policies allow no connections from this machine.

        Args:
            within: Most seconds to wait; the scheduler is asked at least once.

        Raises:
            HaiError: The scheduler is not ready in time; the message has its last answer.
        """
        hub = "-".join(filter(None, (self.values().get("fullnameOverride"), "hub")))
        end = time.monotonic() + within
        while True:
            try:
                self.kubectl("exec", f"deployment/{hub}", "-c", "hub", "--", "python", "-c", _ASK)
            except Invalid:
                raise
            except HaiError as error:
                if time.monotonic() >= end:
                    raise HaiError(f"the scheduler does not answer yet: {error.message}") from None
                time.sleep(_PAUSE_S)
            else:
                return

    def workloads(self) -> str:
        """Return the namespace of users' servers and training pods."""
        own = self.values().get("workloads", {}).get("namespace")
        return str(own or f"{self.namespace}-work")


def _there(kind: str, name: str) -> str:
    """Return what to do about an object that is not the release's."""
    if kind == "Namespace":
        return (
            f"workloads.create: the namespace {name} is there already, and was not made by this release: write "
            "`workloads: {create: false}` into the values file; its labels, as those of Pod Security, are yours then"
        )
    return (
        f"{kind} {name} is there already, and was not made by this release: remove it, or choose other names "
        "(fullnameOverride) or namespaces"
    )


def _values(files: Sequence[str], reset: bool) -> list[str]:
    before = "--reset-values" if reset else "--reset-then-reuse-values"
    return [before, *(word for file in files for word in ("--values", file))]


def run_program(program: str, remedy: str, words: Sequence[str]) -> str:
    """Run a program; returns what it prints. Raises Invalid if it is not there, HaiError if it fails."""
    # `make helm` puts both beside the Python of a virtual environment, which need not be on PATH.
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
    if (path := shutil.which(program, path=places)) is None:
        raise Invalid(f"{program} is not on PATH: {remedy}")
    result = subprocess.run([path, *words], capture_output=True, text=True, check=False)
    if result.returncode:
        said = " ".join(result.stderr.split()) or f"status {result.returncode}"
        raise HaiError(f"{program} {words[0]}: {said.removeprefix('Error: ')[:2000]}")
    return result.stdout
