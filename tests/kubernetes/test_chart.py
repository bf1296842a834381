"""The chart on a real cluster: installed, used, upgraded under a running task, and asked what its accounts may do.

HAI_TEST_CHART_VALUES names a values file with the images, and whatever else this cluster needs
(`serviceAddresses: environment` where it has no DNS, `postgresql.storage.enabled: false` where it has no volumes).
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from hai_client.api import Client
from hai_client.errors import HaiError
from hai_client.schema import Task, TaskRequest

CHART = Path(__file__).parents[2] / "helm" / "hai"
VALUES = os.environ.get("HAI_TEST_CHART_VALUES", "")
PATIENCE = float(os.environ.get("HAI_TEST_PATIENCE", "120")) * 3
PASSWORD = secrets.token_hex(20)
ABSENT = "no images of the chart: name a values file by HAI_TEST_CHART_VALUES to install it"

#: Every node is a training node, and nothing is requested of it: the cluster is not ours alone.
OURS: dict[str, Any] = {
    "hub": {
        "config": {
            "JupyterHub": {"authenticator_class": "shared-password"},
            "SharedPasswordAuthenticator": {"user_password": "an-ordinary-password", "admin_password": PASSWORD},
            "Authenticator": {"admin_users": ["ann"], "allow_all": True},
        }
    },
    "scheduler": {
        "config": {
            "KubernetesSettings": {
                "groups": {"training": "kubernetes.io/os=linux"},
                "gpu_resources": [],
                "cpu_share": 0.0,
                "memory_share": 0.0,
                "shm_size": "64Mi",
            }
        }
    },
}

pytestmark = pytest.mark.skipif(not VALUES, reason=ABSENT)


def tool(name: str, *words: str, check: bool = True, given: str | None = None) -> str:
    """Run helm or kubectl with KUBECONFIG."""
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
    path = shutil.which(name, path=places)
    assert path is not None, f"no {name}: `make helm` installs it"
    result = subprocess.run([path, *words], input=given, capture_output=True, text=True, check=False)
    assert not check or result.returncode == 0, result.stderr
    return result.stdout


def until(what: str, found: Callable[[], Any]) -> Any:
    """Wait for something that takes a real cluster a while."""
    end = time.monotonic() + PATIENCE
    while not (there := found()):
        assert time.monotonic() < end, f"{what} did not happen within {PATIENCE:.0f} s"
        time.sleep(0.5)
    return there


@dataclass
class Platform:
    """An installation of its own."""

    namespace: str
    values: Path
    tunnel: subprocess.Popen[str] | None = None
    url: str = ""
    clients: dict[str, Client] = field(default_factory=dict)

    @property
    def work(self) -> str:
        return f"{self.namespace}-work"

    @property
    def hub(self) -> str:
        """The account of Hub and scheduler."""
        return f"{self.namespace}:hub"

    def helm(self, *more: str) -> None:
        words = ["upgrade", "--install", "hai", str(CHART), "--namespace", self.namespace, "--create-namespace"]
        words += ["--values", VALUES, "--values", str(self.values), "--wait", "--timeout", f"{PATIENCE:.0f}s"]
        tool("helm", *words, *more)

    def open(self) -> None:
        """Reach the proxy through the API server."""
        self.close()
        places = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
        kubectl = shutil.which("kubectl", path=places)
        assert kubectl is not None
        words = [kubectl, "-n", self.namespace, "port-forward", "service/proxy-public", ":80"]
        self.tunnel = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.tunnel.stdout is not None
        line = self.tunnel.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        assert found, line
        self.url = f"http://127.0.0.1:{found[1]}"
        # The Hub is ready before the service that it starts.
        until("the scheduler's answer", self.answers)

    def answers(self) -> bool:
        try:
            return Client(self.url, "none").health().status == "ok"
        except HaiError:
            return False

    def close(self) -> None:
        if self.tunnel is not None:
            self.tunnel.kill()
            self.tunnel.communicate()
            self.tunnel = None

    def client(self, user: str) -> Client:
        if user not in self.clients:
            self.clients[user] = Client(self.url, asyncio.run(log_in(self.url, user, PASSWORD)))
        return self.clients[user]

    def objects(self, kind: str, namespace: str, selector: str = "") -> list[dict[str, Any]]:
        words = ["-n", namespace, "get", kind, "-o", "json", *(["-l", selector] if selector else [])]
        items: list[dict[str, Any]] = json.loads(tool("kubectl", *words))["items"]
        return items

    def allowed(self, account: str, resource: str, namespace: str) -> set[str]:
        """What the API server itself says that an account may do: SubjectAccessReviews, one a verb."""
        user = f"system:serviceaccount:{account}"
        groups = ["system:serviceaccounts", "system:authenticated"]
        attributes = {"resource": resource, "namespace": namespace}
        reviews = [
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {"user": user, "groups": groups, "resourceAttributes": {**attributes, "verb": verb}},
            }
            for verb in VERBS
        ]
        given = json.dumps({"apiVersion": "v1", "kind": "List", "items": reviews})
        answers = tool("kubectl", "create", "-f", "-", "-o", 'jsonpath={.status.allowed}{"\\n"}', given=given).split()
        assert len(answers) == len(VERBS)
        return {verb for verb, answer in zip(VERBS, answers, strict=True) if answer == "true"}


async def log_in(url: str, user: str, password: str) -> str:
    """Log in as a browser does, and get a token."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as session:

        async def xsrf(path: str) -> str:
            async with session.get(url + path) as page:
                assert page.status == 200
                found = re.search(r"_xsrf\"?\s*(?:type=\"hidden\")?[^>]*value=\"([^\"]+)\"", await page.text())
                return found[1] if found else ""

        form = {"username": user, "password": password, "_xsrf": await xsrf("/hub/login")}
        async with session.post(f"{url}/hub/login", data=form, allow_redirects=False) as answer:
            assert answer.status == 302, await answer.text()
        async with session.get(f"{url}/hub/token") as page:
            assert page.status == 200
        cookie = next(c.value for c in jar if c.key == "_xsrf" and c["path"].rstrip("/").endswith("/hub"))
        headers = {"X-XSRFToken": cookie, "Referer": f"{url}/hub/token"}
        async with session.post(f"{url}/hub/api/users/{user}/tokens", json={"note": "test"}, headers=headers) as made:
            assert made.status in (200, 201), await made.text()
            return str((await made.json())["token"])


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    values = tmp_path_factory.mktemp("chart") / "values.yaml"
    values.write_text(yaml.safe_dump(OURS))
    made = Platform(f"hai-test-{secrets.token_hex(3)}", values)
    try:
        made.helm()
        made.open()
        yield made
    finally:
        made.close()
        tool("helm", "uninstall", "hai", "--namespace", made.namespace, check=False)
        for namespace in (made.namespace, made.work):
            tool("kubectl", "delete", "namespace", namespace, "--wait=false", check=False)


def state_of(client: Client, task: Task) -> str:
    return str(client.task(task.id).state)


def test_a_task_is_submitted_runs_as_pods_and_shows_its_log(platform: Platform) -> None:
    client = platform.client("ann")
    words = ("sh", "-c", "echo rank $RANK of $WORLD_SIZE; sleep 3")
    task = client.submit(TaskRequest(command=words, nodes=2, name="hello", cwd="/tmp"))
    until(
        "the run's pods", lambda: len(platform.objects("pods", platform.work, f"hai.jupyter.org/task={task.id}")) == 2
    )
    until("the end", lambda: state_of(client, task) in ("succeeded", "failed", "stopped"))
    assert state_of(client, task) == "succeeded", client.task(task.id)
    for rank in (0, 1):
        assert f"rank {rank} of 2" in [line.text for line in client.logs(task.id, rank=rank)]
    until("nothing left", lambda: not platform.objects("pods", platform.work, f"hai.jupyter.org/task={task.id}"))


def test_an_upgrade_keeps_tasks_running_and_secrets_as_they_are(platform: Platform) -> None:
    client = platform.client("ann")
    task = client.submit(TaskRequest(command=("sleep", "3600"), nodes=1, name="long", cwd="/tmp"))
    until("the start", lambda: state_of(client, task) == "running")

    def seen() -> tuple[dict[str, str], set[str]]:
        held = {entry["metadata"]["name"]: json.dumps(entry.get("data")) for entry in tokens()}
        return held, {pod["metadata"]["uid"] for pod in platform.objects("pods", platform.work)}

    def tokens() -> list[dict[str, Any]]:
        found = platform.objects("secrets", platform.namespace, "app.kubernetes.io/name=hai")
        return [entry for entry in found if not entry["metadata"]["name"].endswith("-config")]

    def hub() -> str:
        (pod,) = platform.objects("pods", platform.namespace, "app.kubernetes.io/component=hub")
        return str(pod["metadata"]["uid"])

    before, old_hub = seen(), hub()
    platform.helm("--set", "hub.annotations.upgraded=yes", "--set", "hub.loadRoles.more.scopes={list:users}")
    assert hub() != old_hub
    assert seen() == before
    platform.open()
    platform.clients.clear()
    client = platform.client("ann")
    assert state_of(client, task) == "running"
    assert len(client.runs(task.id)) == 1
    client.stop(task.id)
    until("the stop", lambda: state_of(client, task) == "stopped")


LOOK = ("get", "list", "watch")
VERBS = (*LOOK, "create", "delete", "deletecollection", "patch", "update")
#: With the scheduler in the Hub's pod one account does the work of both.
MAY = {
    "pods": {*LOOK, "create", "delete", "deletecollection"},
    "persistentvolumeclaims": {*LOOK, "create", "delete"},
    "events": set(LOOK),
    "services": {*LOOK, "create", "delete", "patch"},
    "secrets": {"create", "delete"},
    "configmaps": set(),
    "serviceaccounts": set(),
}


@pytest.mark.parametrize("resource", MAY)
def test_the_platform_may_do_these_things_among_the_workloads_and_no_others(platform: Platform, resource: str) -> None:
    assert platform.allowed(platform.hub, resource, platform.work) == MAY[resource]


@pytest.mark.parametrize("resource", MAY)
def test_the_platform_may_do_nothing_in_its_own_and_in_other_namespaces(platform: Platform, resource: str) -> None:
    for namespace in (platform.namespace, "kube-system", "default"):
        assert platform.allowed(platform.hub, resource, namespace) == set()


def test_of_the_cluster_the_platform_sees_the_nodes(platform: Platform) -> None:
    assert platform.allowed(platform.hub, "nodes", "") == set(LOOK)


def test_training_pods_may_do_nothing_and_have_no_token(platform: Platform) -> None:
    client = platform.client("ann")
    task = client.submit(TaskRequest(command=("sleep", "60"), nodes=1, name="nobody", cwd="/tmp"))
    (pod,) = until("the pod", lambda: platform.objects("pods", platform.work, f"hai.jupyter.org/task={task.id}"))
    assert pod["spec"]["serviceAccountName"] == "hai-task"
    mounts = [mount["mountPath"] for entry in pod["spec"]["containers"] for mount in entry["volumeMounts"]]
    assert not [path for path in mounts if path.startswith("/var/run/secrets")]
    for resource in ("pods", "secrets"):
        assert platform.allowed(f"{platform.work}:hai-task", resource, platform.work) == set()
    client.stop(task.id)


def test_no_config_map_holds_a_secret(platform: Platform) -> None:
    held = [
        base64.b64decode(text).decode()
        for entry in platform.objects("secrets", platform.namespace, "app.kubernetes.io/name=hai")
        if not entry["metadata"]["name"].endswith("-config")
        for text in entry["data"].values()
    ]
    maps = json.dumps(platform.objects("configmaps", platform.namespace))
    assert held
    assert not [secret for secret in held if secret in maps]
