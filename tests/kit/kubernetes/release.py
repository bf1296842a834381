"""The chart, installed on a real cluster: helpers that its tests share."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from hai_client.api import Client
from hai_client.errors import HaiError
from hai_client.wire.schema import Task, TaskRequest
from kit.waiting import wait_for

ROOT = Path(__file__).parents[3]
CHART = ROOT / "helm" / "hai"
VALUES = os.environ.get("HAI_TEST_CHART_VALUES", "")
PATIENCE = float(os.environ.get("HAI_TEST_PATIENCE", "120")) * 3
#: On a cluster everything takes long, and each look is a request or a program.
chart_wait_for = partial(wait_for, within=PATIENCE, pause=0.5)
#: Of admins, and of everybody else.
PASSWORD, ORDINARY = secrets.token_hex(20), secrets.token_hex(20)
ADMINS = ("ann",)
needs_images = pytest.mark.skipif(
    not VALUES, reason="no images of the chart: name a values file by HAI_TEST_CHART_VALUES to install it"
)

#: Every node is a training node, and pods request nothing of it: others may use the cluster too.
OURS: dict[str, Any] = {
    "hub": {
        "config": {
            "JupyterHub": {"authenticator_class": "shared-password"},
            "SharedPasswordAuthenticator": {"user_password": ORDINARY, "admin_password": PASSWORD},
            "Authenticator": {"admin_users": list(ADMINS), "allow_all": True},
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


def tool(name: str, *words: str, check: bool = True, given: str | None = None) -> str:
    """Run helm or kubectl with KUBECONFIG."""
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
    path = shutil.which(name, path=places)
    assert path is not None, f"no {name}: `make helm` installs it"
    result = subprocess.run([path, *words], input=given, capture_output=True, text=True, check=False)
    assert not check or result.returncode == 0, result.stderr
    return result.stdout


LOOK = ("list", "watch")
VERBS = (*LOOK, "get", "create", "delete", "deletecollection", "patch", "update")


def allowed(account: str, resource: str, namespace: str) -> set[str]:
    """The verbs that an account may use on a resource, as the API server says in a SubjectAccessReview for each.

    `resource` may name a subresource, such as `pods/exec`.
    """
    user = f"system:serviceaccount:{account}"
    groups = ["system:serviceaccounts", "system:authenticated"]
    kind, _, part = resource.partition("/")
    attributes = {"resource": kind, "subresource": part, "namespace": namespace}
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


@dataclass
class Platform:
    """An installation of the chart."""

    namespace: str
    values: tuple[Path, ...]
    #: The chart, and the file of values with its images.
    chart: Path = CHART
    images: str = VALUES
    tunnel: subprocess.Popen[str] | None = None
    url: str = ""
    clients: dict[str, Client] = field(default_factory=dict)
    #: Tokens of the Hub, by user who has a client.
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def work(self) -> str:
        return f"{self.namespace}-work"

    @property
    def hub(self) -> str:
        """The service account of the Hub, and of the scheduler where the scheduler runs in the Hub's pod."""
        return f"{self.namespace}:hub"

    @property
    def files(self) -> list[str]:
        """The options that name the files of values."""
        return [word for file in (self.images, *map(str, self.values)) for word in ("--values", file)]

    def helm(self, *more: str) -> None:
        words = ["upgrade", "--install", "hai", str(self.chart), "--namespace", self.namespace, "--create-namespace"]
        words += self.files
        tool("helm", *words, "--wait", "--timeout", f"{PATIENCE:.0f}s", *more)

    def open(self) -> None:
        """Forward a local port to the proxy through the API server."""
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
        chart_wait_for("the scheduler's answer", self.answers)

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
            self.tokens[user] = asyncio.run(log_in(self.url, user, PASSWORD if user in ADMINS else ORDINARY))
            self.clients[user] = Client(self.url, self.tokens[user])
        return self.clients[user]

    def objects(self, kind: str, namespace: str, selector: str = "") -> list[dict[str, Any]]:
        words = ["-n", namespace, "get", kind, "-o", "json", *(["-l", selector] if selector else [])]
        items: list[dict[str, Any]] = json.loads(tool("kubectl", *words))["items"]
        return items


async def log_in(url: str, user: str, password: str) -> str:
    """Log in as a browser does; returns a token of the user."""
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


def start_server(platform: Platform, user: str) -> str:
    """Start a user's server; returns a token of theirs."""
    token = asyncio.run(log_in(platform.url, user, PASSWORD if user in ADMINS else ORDINARY))
    address, headers = f"{platform.url}/hub/api/users/{user}", {"Authorization": f"token {token}"}
    with urllib.request.urlopen(urllib.request.Request(f"{address}/server", method="POST", headers=headers)) as answer:
        assert answer.status in (201, 202)

    def ready() -> bool:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
            return any(server["ready"] for server in json.load(answer)["servers"].values())

    chart_wait_for(f"the server of {user}", ready)
    return token


@contextmanager
def installed(
    folder: Path,
    more: Mapping[str, Any] | None = None,
    *,
    chart: Path = CHART,
    images: str = VALUES,
    config_maps: Mapping[str, Mapping[str, str]] | None = None,
) -> Iterator[Platform]:
    """An installation of the chart that is removed at the end.

    Args:
        folder: Gets the files of values.
        more: Values besides those of the tests.
        chart: The chart.
        images: The file of values with its images.
        config_maps: ConfigMaps that the values name, by name: their texts by key.
    """
    values = folder / "values.yaml"
    values.write_text(yaml.safe_dump(OURS))
    besides = folder / "more.yaml"
    besides.write_text(yaml.safe_dump(dict(more or {})))
    made = Platform(f"hai-test-{secrets.token_hex(3)}", (values, besides), chart, images)
    try:
        if config_maps:
            tool("kubectl", "create", "namespace", made.namespace)
            held = [
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(texts)}
                for name, texts in config_maps.items()
            ]
            given = json.dumps({"apiVersion": "v1", "kind": "List", "items": held})
            tool("kubectl", "-n", made.namespace, "create", "-f", "-", given=given)
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


def assert_computes(client: Client, ended: Task, line: str) -> None:
    """The scheduler's worker processes start in its container, reach the database and answer.

    Args:
        client: Of a user.
        ended: A task of this user that has printed the line.
        line: Part of the line.
    """
    request = TaskRequest(command=("true",), nodes=1, name="thought-of", cwd="/tmp")
    assert client.forecast(request).outcome == "now"
    assert line in [hit.text for hit in client.search_logs(ended.id, line).lines]
    assert client.parse_experiment((ROOT / "examples" / "digits.yml").read_text()).nodes == 2
