"""Environments of haienv on a real cluster: the chart's volume, users' servers that build, and tasks that are pinned.

It needs what tests/kubernetes/test_chart.py needs, and HAI_TEST_SHARED_PATH (kit.kubernetes.platform): the volume is a
folder of it, as a PersistentVolume. Ann and bob have accounts of their own in their pods, 1000 and 2002.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from hai_client.errors import Forbidden, Invalid
from hai_client.wire.schema import TaskRequest
from integration.haienv.conftest import make_wheel
from kit.evil_sdist import make_evil_sdist
from kit.kubernetes.environment_site import ENVS, PYTHON, Site, environment_site
from kit.kubernetes.platform import NO_SHARED, SHARED
from kit.kubernetes.release import chart_wait_for, needs_images
from kit.wheelhouse import wheels_of

pytestmark = [needs_images, pytest.mark.skipif(not SHARED, reason=NO_SHARED)]

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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with environment_site(tmp_path_factory.mktemp("chart")) as made:
        wheels = made.folder / "envs/base/.wheels"
        for version in ("1.0", "2.0"):
            make_wheel(wheels, "alpha", version)
        make_evil_sdist(wheels, "evil", [f"{ENVS}/{place}" for place in CLOSED], f"{ENVS}/users/ann/report.json")
        # What the kernel of an environment needs.
        wheels_of(wheels, "ipykernel")
        made.start("ann", "bob")
        yield made


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
