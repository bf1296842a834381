"""Environments of haienv on a real cluster: the chart's volume, users' servers that build, and tasks that are pinned.

It needs what tests/kubernetes/test_chart.py needs, and HAI_TEST_SHARED_PATH (kit.kubernetes.platform): the volume is a
folder of it, as a PersistentVolume. Ann and bob have accounts of their own in their pods, 1000 and 2002.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hai_client.api import Client
from hai_client.errors import Forbidden, Invalid
from hai_client.wire.schema import Task, TaskRequest
from integration.haienv.conftest import make_wheel
from kit.evil_sdist import make_evil_sdist
from kit.kubernetes.platform import NO_SHARED, SHARED
from kit.kubernetes.release import (
    OURS,
    PASSWORD,
    ROOT,
    Platform,
    chart_wait_for,
    installed,
    log_in,
    needs_images,
    state_of,
    tool,
)
from kit.wheelhouse import wheels_of

pytestmark = [needs_images, pytest.mark.skipif(not SHARED, reason=NO_SHARED)]

ENVS = "/haienv"
#: Where all servers and builds see the packages: what else lies in the root is in no pod.
WHEELS = f"{ENVS}/base/.wheels"
#: Where tasks see the folder of gates and checkpoints.
INSIDE = "/shared"
STEPS = 20
#: A Python that is in the image of servers and in that of tasks.
PYTHON = "/usr/bin/python3"
ACCOUNTS = "c.KubeSpawner.uid = lambda spawner: {'ann': 1000}.get(spawner.user.name, 2002)"
#: Homes that are lost with the pod, and that every account may write by the group of the volume.
HOMES = {
    "type": "none",
    "extraVolumes": [{"name": "home", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "home", "mountPath": "/home/jovyan"}],
}
#: Builds by the platform take packages from the folder of the servers' builds, and the Python of all images.
OFFLINE = {
    "UV_OFFLINE": "1",
    "UV_PYTHON_DOWNLOADS": "never",
    "UV_FIND_LINKS": WHEELS,
}
#: Where the build of a package of ann's tries to write, besides ann's own folder.
CLOSED = (".", "users", "users/bob", "base", "groups", "groups/cv", "references/service")
#: Prints what below the folders can be written: files and folders that say so, and those where it works.
WRITABLE = """
import os, sys
found = []
for top in sys.argv[1:]:
    for folder, folders, files in os.walk(top):
        found += [path for path in [folder, *(os.path.join(folder, one) for one in files)]
                  if not os.path.islink(path) and os.access(path, os.W_OK)]
    for name in ("evil", "base/evil", "users/evil", "references/service/evil.json"):
        try:
            open(os.path.join(top, name), "w").close()
            found.append(name)
        except OSError:
            pass
print("writable:", *found)
"""


@dataclass(frozen=True)
class Site:
    """An installed platform, and its volume as this machine sees it."""

    platform: Platform
    folder: Path
    #: Tokens of the Hub, by user.
    tokens: dict[str, str]

    def in_server(self, user: str, *words: str, check: bool = True) -> str:
        """Run a program in a user's server; returns what it prints, with its messages."""
        offline = ["UV_OFFLINE=1", "UV_PYTHON_DOWNLOADS=never", f"UV_FIND_LINKS={WHEELS}"]
        command = ["-n", self.platform.work, "exec", f"jupyter-{user}", "-c", "notebook", "--", "env", *offline, *words]
        script = 'exec 2>&1; "$@"; echo "status $?"'
        said = tool("kubectl", *command[:7], "sh", "-c", script, "sh", *command[7:])
        text, _, status = said.rpartition("status ")
        assert not check or status.strip() == "0", text
        return text

    def restart(self, user: str) -> None:
        """Stop a user's server, and start it again."""
        self.hub(user, "DELETE", f"/users/{user}/server")
        address = f"{self.platform.url}/hub/api/users/{user}"
        request = urllib.request.Request(address, headers={"Authorization": f"token {self.tokens[user]}"})

        def stopped() -> bool:
            with urllib.request.urlopen(request) as answer:
                return not json.load(answer)["servers"]

        chart_wait_for(f"the server of {user} to be gone", stopped)
        start_server(self.platform, user)

    def submit(self, name: str, gate: str, environment: str, user: str = "ann") -> Task:
        command = ("python", f"{INSIDE}/counting.py", str(STEPS), f"{INSIDE}/gates/{gate}")
        request = TaskRequest(name=name, command=command, cwd="/", environment=environment, grace_s=30)
        return self.platform.client(user).submit(request)

    def log(self, task: Task, user: str = "ann") -> str:
        return "\n".join(line.text for line in self.platform.client(user).logs(task.id))

    def until(self, task: Task, state: str, user: str = "ann") -> Task:
        client = self.platform.client(user)

        def reached() -> bool:
            now = state_of(client, task)
            assert now == state or now not in ("failed", "stopped", "succeeded"), (client.task(task.id), self.log(task))
            return now == state

        chart_wait_for(f"{task.name} to be {state}", reached)
        return client.task(task.id)

    def built(self, task: Task, user: str = "ann") -> None:
        """Wait until a build has ended well."""
        self.until(task, "succeeded", user)

    def hub(self, user: str, method: str, path: str, body: dict[str, Any] | None = None) -> None:
        """Ask the Hub for something, as a user."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.tokens[user]}"}
        request = urllib.request.Request(f"{self.platform.url}/hub/api{path}", data, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            assert answer.status in (200, 201, 202, 204)

    def result(self, task: Task, user: str = "ann") -> str:
        self.until(task, "succeeded", user)
        [found] = re.findall(r"result ([0-9a-f]{64})", self.log(task, user))
        return str(found)

    def seen(self, task: Task) -> list[str]:
        """The versions of `alpha` that the runs of a task have imported."""
        return re.findall(r"alpha (\S+) from", self.log(task))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = Path(tempfile.mkdtemp(prefix="hai-test-envs-", dir=SHARED))
    for name in ("envs", "disk", "shared", "shared/gates", "shared/checkpoints"):
        (folder / name).mkdir()
    # Both nodes are on one machine here, and have one disk.
    os.chown(folder / "disk", 1000, 100)
    folder.chmod(0o755)
    for name in ("gates", "checkpoints"):
        (folder / "shared" / name).chmod(0o777)
    (folder / "shared/gates/open").touch()
    shutil.copy(ROOT / "tests/e2e/counting.py", folder / "shared")
    for version in ("1.0", "2.0"):
        make_wheel(folder / "envs/base/.wheels", "alpha", version)
    make_evil_sdist(
        folder / "envs/base/.wheels", "evil", [f"{ENVS}/{place}" for place in CLOSED], f"{ENVS}/users/ann/report.json"
    )
    # What the kernel of an environment needs.
    wheels_of(folder / "envs/base/.wheels", "ipykernel")
    volume = {
        "type": "static",
        "size": "1Gi",
        "source": {"hostPath": {"path": str(folder / "envs"), "type": "Directory"}},
    }
    values: dict[str, Any] = {
        "haienv": {
            "enabled": True,
            "root": ENVS,
            "pythons": "system",
            "volume": volume,
            "local": {"path": str(folder / "disk")},
        },
        "hub": {
            "extraConfig": {"accounts": ACCOUNTS},
            # Any node will do: the other tests leave no label on them.
            "config": {"HaiKubeSpawner": {"group_label": "kubernetes.io/os", "groups": ["linux"]}},
        },
        "singleuser": {"storage": HOMES, "memory": {"guarantee": "64M"}},
        "scheduler": {
            "config": {
                "KubernetesSettings": {
                    "checkpoint_root": f"{INSIDE}/checkpoints",
                    "haienv_build_variables": OFFLINE,
                }
            }
        },
        # Its API server is older than pod security standards; others would refuse the mount rule below.
        "workloads": {"podSecurity": "privileged"},
    }
    namespace = ""
    try:
        with installed(tmp_path_factory.mktemp("chart"), values) as platform:
            namespace = platform.namespace
            ann = platform.client("ann")
            ann.set_mount("shared", "public", INSIDE, kind="host_path", source=str(folder / "shared"), read_only=False)
            tokens = {user: start_server(platform, user) for user in ("ann", "bob")}
            platform.clients["bob"] = Client(platform.url, tokens["bob"])
            yield Site(platform, folder, tokens)
    finally:
        names = [f"{namespace}-hai-{name}-haienv" for name in (namespace, f"{namespace}-work")]
        names.append(f"{namespace}-hai-haienv-local")
        tool("kubectl", "delete", "persistentvolume", *names, "--wait=false", check=False)
        shutil.rmtree(folder, ignore_errors=True)


def start_server(platform: Platform, user: str) -> str:
    """Start a user's server; returns a token of theirs."""
    # Bob is no admin.
    password = PASSWORD if user == "ann" else OURS["hub"]["config"]["SharedPasswordAuthenticator"]["user_password"]
    token = asyncio.run(log_in(platform.url, user, password))
    address, headers = f"{platform.url}/hub/api/users/{user}", {"Authorization": f"token {token}"}
    with urllib.request.urlopen(urllib.request.Request(f"{address}/server", method="POST", headers=headers)) as answer:
        assert answer.status in (201, 202)

    def ready() -> bool:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
            return any(server["ready"] for server in json.load(answer)["servers"].values())

    chart_wait_for(f"the server of {user}", ready)
    return token


def test_a_task_goes_on_with_what_it_began_with(site: Site) -> None:
    """The proof of pinning with pods: another version of a package between two turns changes nothing."""
    ann = site.platform.client("ann")
    site.in_server("ann", "haienv", "create", "vision", "-p", PYTHON, "alpha==1.0")
    undisturbed = site.result(site.submit("undisturbed", "open", "vision"))

    task = site.submit("pinned", "gate", "vision")
    chart_wait_for("it to hold", lambda: len(site.seen(task)) == 1)
    ann.suspend(task.id)
    site.until(task, "suspended")
    site.in_server("ann", "haienv", "install", "vision", "alpha==2.0")
    # What the service has written of the task, a server of a user reads: the generation stays.
    said = site.in_server("ann", "haienv", "gc", "vision", "--keep", "0")
    assert f"users/ann/vision@1 stays: task {task.id} of ann uses it" in said
    (site.folder / "shared/gates/gate").touch()
    ann.resume(task.id)

    assert site.result(task) == undisturbed
    assert site.seen(task) == ["1.0", "1.0"]
    ended = ann.task(task.id)
    assert [run.haienv.generation for run in ended.runs if run.haienv] == [1, 1]
    assert ended.haienv is not None
    assert ended.haienv.digest.startswith("sha256:")

    # The ranks have run a copy on their node's own disk.
    copies = {one.name.replace("-", ":") for one in (site.folder / "disk").glob("sha256-*")}
    assert copies == {ended.haienv.digest}

    # The next one comes from a pack, where there is one.
    if "there is no mksquashfs" not in site.in_server("ann", "haienv", "pack", "vision", check=False):
        assert list((site.folder / "envs/users/ann/vision/generations/2").glob("pack.squashfs"))
    new = site.submit("new", "open", "vision")
    assert site.result(new) != undisturbed
    assert site.seen(new) == ["2.0"]
    # With the end of the task its reference goes, and then the generation.
    chart_wait_for("the references to go", lambda: not list((site.folder / "envs/references/service").glob("*.json")))
    assert "users/ann/vision@1 is removed" in site.in_server("ann", "haienv", "gc", "vision", "--keep", "0")


def test_nobody_writes_what_another_one_runs(site: Site) -> None:
    site.in_server("bob", "haienv", "create", "sight", "--no-kernel", "-p", PYTHON, "alpha==1.0")
    site.in_server("bob", "haienv", "share", "sight", "--all")
    site.in_server("ann", "haienv", "create", "own", "--no-kernel", "-p", PYTHON, "alpha==1.0")
    site.in_server("ann", "haienv", "share", "own", "--all")
    folders = {one.name: one.stat().st_uid for one in (site.folder / "envs/users").iterdir()}
    assert folders == {"ann": 1000, "bob": 2002}

    for user, other, account in (("ann", "users/bob", "1000"), ("bob", "users/ann", "2002")):
        assert site.in_server(user, "id", "-u").strip() == account
        said = site.in_server(
            user, "python3", "-c", WRITABLE, f"{ENVS}/{other}", f"{ENVS}/base", f"{ENVS}/references/service"
        )
        # An admin builds base environments: ann is one.
        allowed = {f"{ENVS}/base", "evil"} if user == "ann" else set()
        assert set(said.removeprefix("writable:").split()) <= allowed, (user, said)
        for command in ("mkdir", "touch"):
            # These folders are not those of the volume: the pod has mounts below them alone.
            assert "ermission denied" in site.in_server(user, command, f"{ENVS}/users/evil", check=False)
        assert "vision" not in site.in_server(user, "haienv", "remove", f"{other}/none", check=False)
    # They may use what is shared, by its full name, from the next start of their server on.
    site.restart("ann")
    said = site.in_server(
        "ann", "haienv", "run", "users/bob/sight", "--", "python", "-c", "import alpha; print(alpha.VERSION)"
    )
    assert said.strip().endswith("1.0")


#: Prints which environments of users can be found below the root, whatever their files say.
FOUND = """
import os
top = "/haienv/users"
names = [f"{user}/{name}" for user in os.listdir(top) for name in os.listdir(os.path.join(top, user))]
print("found:", *sorted(name for name in names if "/." not in name))
"""


def test_another_users_environment_is_in_no_container_and_no_task(site: Site) -> None:
    """Pods of all users may have one account: what is not theirs is not mounted at all."""
    site.in_server("bob", "haienv", "create", "hidden", "--no-kernel", "-p", PYTHON, "alpha==1.0")
    hidden = site.folder / "envs/users/bob/hidden"
    # It is not shared; that its files could be read all the same is what the accounts of pods are for here.
    hidden.chmod(0o750)
    site.restart("ann")
    said = site.in_server("ann", "python3", "-c", FOUND)
    assert "bob/hidden" not in said
    assert "bob/sight" in said, "what is shared with all is there"
    assert "ann/own" in said
    listed = site.in_server("ann", "haienv", "list", "-a", "--json")
    assert "users/bob/hidden" not in listed
    assert "users/bob/sight" in listed
    assert "found: bob/hidden bob/sight" in site.in_server("bob", "python3", "-c", FOUND)

    ann = site.platform.client("ann")
    seen = {}
    for environment in ("users/ann/own", "users/bob/sight"):
        request = TaskRequest(name="looks", command=("python", "-c", FOUND), cwd="/", environment=environment)
        task = ann.submit(request)
        site.until(task, "succeeded")
        [seen[environment]] = re.findall(r"found: (.*)", site.log(task))
    assert "bob" not in seen["users/ann/own"]
    # The one of bob's that the task is pinned to, and no other one of his.
    assert [one for one in seen["users/bob/sight"].split() if one.startswith("bob/")] == ["bob/sight"]
    with pytest.raises(Invalid, match="hidden"):
        site.submit("foreign", "open", "users/bob/hidden")


def test_a_rank_reads_its_nodes_own_disk_and_cannot_write_it(site: Site) -> None:
    code = "import alpha, os; f = alpha.__file__; print('from', f, os.access(f, os.W_OK), open('/proc/mounts').read())"
    request = TaskRequest(name="disk", command=("python", "-c", code), cwd="/", environment="users/ann/own")
    task = site.platform.client("ann").submit(request)
    ended = site.until(task, "succeeded")
    assert ended.haienv is not None
    prefix = f"{ENVS}/users/ann/own/generations/1/prefix"
    said = site.log(task)
    assert f"from {prefix}/lib/" in said
    assert "__init__.py False" in said
    assert re.search(rf"^\S+ {prefix} \S+ ro,", said, re.MULTILINE), said
    assert (site.folder / "disk" / ended.haienv.digest.replace(":", "-") / "complete").is_file()


def test_a_task_cannot_write_the_root(site: Site) -> None:
    request = TaskRequest(name="evil", command=("python", "-c", WRITABLE, ENVS), cwd="/", environment="users/ann/own")
    task = site.platform.client("ann").submit(request)
    site.until(task, "succeeded")
    assert [line for line in site.log(task).splitlines() if line.startswith("writable:")] == ["writable:"]


def test_a_kernel_of_the_environment_is_in_the_launcher(site: Site) -> None:
    said = site.in_server("ann", "jupyter", "kernelspec", "list")
    assert f"{ENVS}/users/ann/.jupyter/kernels/" in said, said


def runs(site: Site, environment: str, user: str) -> str:
    """The version of `alpha` that a task of a user imports from an environment."""
    code = "import alpha; print('has', alpha.VERSION)"
    request = TaskRequest(name="uses", command=("python", "-c", code), cwd="/", environment=environment)
    task = site.platform.client(user).submit(request)
    site.until(task, "succeeded", user)
    [found] = re.findall(r"has (\S+)", site.log(task, user))
    return str(found)


def test_the_platform_builds_for_groups_and_base_and_tasks_run_with_it(site: Site) -> None:
    ann, bob = site.platform.client("ann"), site.platform.client("bob")
    site.hub("ann", "POST", "/groups/cv")
    site.hub("ann", "POST", "/groups/cv/users", {"users": ["bob"]})
    # Nobody's server has this group's folder: the build makes it.
    assert not (site.folder / "envs/groups/cv").exists()
    wanted = {"requirements": ["alpha==1.0"], "python": "3.11", "kernel": False}
    site.built(ann.build_environment("groups/cv/vision", "create", **wanted))
    site.built(ann.build_environment("base/common", "create", **wanted))
    site.built(ann.build_environment("base/common", "install", requirements=["alpha==2.0"]))
    # As the account of the chart, which is not root.
    for place in ("groups/cv", "groups/cv/vision", "base/common"):
        assert (site.folder / "envs" / place).stat().st_uid == 1000

    assert runs(site, "groups/cv/vision", "bob") == "1.0"
    assert runs(site, "base/common", "bob") == "2.0"
    for name in ("base/common", "users/ann/own", "groups/cv/vision"):
        with pytest.raises(Forbidden):
            bob.build_environment(name, "install", requirements=["alpha==2.0"])

    # A user's own are built as the account of tasks, and bob's server has another one.
    own = bob.build_environment("own", "create", **wanted)
    refused = "users/bob belongs to the account 2002, and this one is 1000"
    chart_wait_for("the reason", lambda: refused in bob.task(own.id).message)
    assert "the folder of its environment could not be made" in bob.task(own.id).message
    bob.stop(own.id)


def test_a_build_of_one_user_writes_nothing_of_another_one(site: Site) -> None:
    ann = site.platform.client("ann")
    task = ann.build_environment("evil", "create", requirements=["evil"], python="3.11", kernel=False)
    site.built(task)
    # The package's own code has run, as the account to which base and groups/cv belong.
    said = json.loads((site.folder / "envs/users/ann/report.json").read_text())
    assert said == {"uid": 1000, "groups": [100], "written": []}
    assert list((site.folder / "envs").glob("**/evil.txt")) == []
