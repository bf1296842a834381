"""Tasks of twenty users with their own numbers on a real cluster, with a folder that all of them share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hai_client.wire.schema import TaskRequest
from kit.kubernetes.control import ask
from kit.kubernetes.place import Place
from kit.kubernetes.platform import INSIDE, PodPlatform, for_all, make_world
from kit.pod_security import faults

pytestmark = pytest.mark.alone

#: The platform's own user is the first one.
USERS = {"ann" if number == 0 else f"user{number}": 20000 + number for number in range(20)}
#: A group of every second user.
CV = 3100
SCRIPT = f"""
id -u; id -g; id -G; id -un; id -gn
python3 -c 'import getpass, os, pwd; print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir)'
touch {INSIDE}/saved/$HAI_USER
"""


def members() -> list[str]:
    return [name for name, uid in USERS.items() if uid % 2]


@pytest.fixture(scope="module")
def platform(shared_place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PodPlatform]:
    files = tmp_path_factory.mktemp("accounts")
    passwd, group = files / "passwd", files / "group"
    passwd.write_text("".join(f"{name}:x:{uid}:{uid}::/home/{name}:/bin/sh\n" for name, uid in USERS.items()))
    group.write_text(f"cv:x:{CV}:{','.join(members())}\n")
    with make_world(shared_place) as world:
        identities = {"source": "file", "passwd_file": str(passwd), "group_file": str(group)}
        made = PodPlatform(tmp_path_factory.mktemp("platform"), nodes=1, world=replace(world, identities=identities))
        try:
            made.start()
            yield made
        finally:
            made.end()


def owners(folder: Path) -> dict[str, tuple[int, int]]:
    return {one.name: (one.stat().st_uid, one.stat().st_gid) for one in folder.iterdir()}


def test_each_task_is_its_user_and_what_it_makes_is_theirs(platform: PodPlatform) -> None:
    old = platform.world.folder / "old"
    old.mkdir()
    for number in range(200):
        (old / str(number)).touch()
    for_all(old)
    before = {one.name: one.stat().st_ctime_ns for one in old.iterdir()}
    request = TaskRequest(name="who", command=("sh", "-c", SCRIPT), cwd="/", gpus=platform.world.half)
    tasks = {user: platform.client(user).submit(request).id for user in USERS}
    for user, task in tasks.items():
        platform.until(task, "succeeded", user=user)
        uid = USERS[user]
        groups = f"{uid} {CV}" if user in members() else str(uid)
        said = [line.text for line in platform.client(user).logs(task)]
        assert [line for line in said if not line.startswith("-- ")][:6] == [
            str(uid), str(uid), groups, user, user, f"{user} /tmp",
        ], said  # fmt: skip
    assert owners(platform.world.folder / "saved") == {user: (uid, uid) for user, uid in USERS.items()}
    assert {one.name: one.stat().st_ctime_ns for one in old.iterdir()} == before


def test_who_is_in_no_file_starts_nothing(platform: PodPlatform) -> None:
    refused = platform.hai("submit", "--cwd", "/", "--", "true", user="stranger", check=False)
    assert refused.returncode != 0
    assert "the directory has no account of that name" in refused.stderr


def test_its_pods_are_restricted(platform: PodPlatform) -> None:
    """But for the folder of the node that an admin's rule mounts."""
    task = platform.submit("waits", gpus=platform.world.half)
    platform.until(task, "running")
    (pod,) = ask("GET", f"{platform.world.place.path}/pods", query={"labelSelector": f"hai.jupyter.org/task={task}"})[
        "items"
    ]
    found = faults(pod)
    platform.world.open_gate("waits")
    platform.until(task, "succeeded")
    assert {fault.partition(":")[0] for fault in found} <= {"restrictedVolumes"}
