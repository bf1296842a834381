"""The chart, rendered by real Helm, without a cluster. `make helm` provides Helm where there is none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hai_hub.cluster.chart_env import ChartEnv
from kit.helm.pods import SPAWNER_TOKEN, environment, secrets_of
from kit.helm.rendering import API_SERVER, CHART, Render, Rendered, Values, objects_of
from kit.one_hub import _as_it_was  # noqa: F401  # for all tests of this folder

ABSENT = "no helm: `make helm` installs it, and these tests need it"


@pytest.fixture(scope="session")
def helm() -> str:
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
    found = shutil.which("helm", path=places)
    if found is None:
        pytest.skip(ABSENT)
    return found


@pytest.fixture(scope="session")
def run_helm(helm: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a verb of helm with values; nothing of this account's own Helm or kubeconfig has a say.

    Without a cluster the chart cannot look up the API server: this gives an address of it, unless the values do.
    """
    home = tmp_path_factory.mktemp("helm")

    def run(
        *words: str, values: Values | None = None, kubeconfig: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        environ = {"HOME": str(home), "PATH": os.defpath, "KUBECONFIG": str(kubeconfig or home / "none")}
        given = json.dumps({"apiServer": {"cidrs": [API_SERVER]}, **(values or {})})
        return subprocess.run(
            [helm, *words, "--values", "-"], input=given, env=environ, capture_output=True, text=True, check=False
        )

    return run


@pytest.fixture(scope="session")
def render(run_helm: Callable[..., subprocess.CompletedProcess[str]]) -> Render:
    kept: dict[str, Rendered] = {}

    def rendered(values: Values | None = None) -> Rendered:
        key = json.dumps(values, sort_keys=True)
        if key not in kept:
            result = run_helm("template", "hai", str(CHART), "--namespace", "platform", values=values)
            assert result.returncode == 0, result.stderr
            kept[key] = Rendered(objects_of(result.stdout), result.stdout)
        return kept[key]

    return rendered


@pytest.fixture
def chart_env(render: Render, tmp_path: Path) -> Callable[..., ChartEnv]:
    def make(values: dict[str, Any] | None = None, more: dict[str, str] | None = None) -> ChartEnv:
        made = render(values)
        pod = dict(made.pods())["hub"]
        secrets = secrets_of(made)
        secrets["hub"]["spawner-token"] = f"{SPAWNER_TOKEN}\n"
        environ = environment(pod, secrets, tmp_path) | (more or {})
        return ChartEnv.of(environ, json.loads(secrets["hub-config"]["values.json"]))

    return make
