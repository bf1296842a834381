"""The secrets of a run on one machine and in a pod: the command has them, and no byte that leaves or stays does."""

from __future__ import annotations

import base64
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hai_client.linux.processes import read_arguments, read_environment, read_table
from hai_client.rank.starting.secrets import FILE, folder_of
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.secret_refs import SecretRef
from hai_scheduler.ports.cluster import GivenSecret, LaunchOrder
from hai_scheduler.ports.secret import Secret
from integration.rank.conftest import Pod
from integration.rank.local_world import RUN, World
from integration.rank.local_world import world as world
from kit.waiting import until

CANARY = b"hf_canary-f00d-5ecret"


def given(ref: str, value: bytes) -> GivenSecret:
    return GivenSecret(ref=SecretRef.parse(ref), value=Secret(base64.b64encode(value).decode()))


def everything_below(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path, path.read_bytes()


def forms() -> list[bytes]:
    return [CANARY, base64.b64encode(CANARY), CANARY.hex().encode()]


def holding(folder: Path) -> list[str]:
    """The files below a folder that hold the canary."""
    return [str(path) for path, data in everything_below(folder) if any(form in data for form in forms())]


def _is_there(folder: str) -> bool:
    return Path(folder).is_dir()


def order(world: World, script: str, *nodes: str) -> LaunchOrder:
    home = world.folder / "home"
    home.mkdir(exist_ok=True)
    secrets = (given("HF_TOKEN=hf", CANARY), given("~/.netrc=netrc", b"login ann\npassword " + CANARY + b"\n"))
    return replace(world.launch(script, *nodes), env={"HOME": str(home), "HAI_TASK_NAME": "x"}, secrets=secrets)


async def test_the_command_has_them_and_nothing_on_disk_does(world: World) -> None:
    cluster = world.open()
    script = (
        'test "$HF_TOKEN" = "$(printf %s hf_canary-; printf f00d-5ecret)" || exit 3;'
        "grep -q f00d ~/.netrc || exit 4;"
        "echo key $HF_TOKEN; echo $HF_TOKEN >&2; cat ~/.netrc; printf %s $HF_TOKEN | base64;"
        "touch started; while [ ! -e go ]; do sleep 0.05; done"
    )
    await cluster.launch(order(world, script, "node-1", "node-2"))
    await until("the commands to have printed", (world.folder / "started").exists)
    await world.ranks(cluster, RankState.RUNNING)
    folders = [Path(folder_of(str(world.rank_folder(rank)))) for rank in (0, 1)]

    async def written() -> bool:
        logs = [path.read_bytes() for path in world.settings.runs_dir.rglob("*.log") if path.parent.name == "log"]
        return len(logs) == 2 and all(log.count(b"[secret") >= 4 for log in logs)

    await until("both logs", written)
    assert holding(world.folder) == []
    assert all(CANARY not in b" ".join(map(os.fsencode, read_arguments(pid))) for pid in read_table())
    assert not any((world.rank_folder(rank) / FILE).exists() for rank in (0, 1))
    assert all(folder.is_dir() for folder in folders)
    (world.folder / "go").touch()
    ranks = await world.ranks(cluster, RankState.EXITED)
    assert [rank.exit_code for rank in ranks] == [0, 0]
    assert not any(folder.exists() for folder in folders)
    assert not (world.folder / "home" / ".netrc").is_symlink()
    log = b"".join(path.read_bytes() for path in (world.rank_folder() / "log").glob("*.log"))
    assert b"key [secret hf]\n" in log
    assert holding(world.folder) == []


async def test_no_process_of_the_platform_has_them(world: World) -> None:
    cluster = world.open()
    await cluster.launch(order(world, "touch started; sleep 60"))
    await until("the command to have started", (world.folder / "started").exists)
    commands = world.processes()
    holders = [pid for pid in read_table() if CANARY in read_environment(pid).values()]
    assert holders
    assert set(holders) <= set(commands)


async def test_a_run_that_is_ended_before_it_starts_leaves_none(world: World) -> None:
    cluster = world.open()
    await cluster.launch(replace(order(world, "true", "node-1", "no-such-node")))
    await cluster.kill(RUN)
    await world.ranks(cluster, RankState.EXITED)
    assert holding(world.folder) == []
    assert not list(world.settings.runs_dir.rglob(FILE))


async def test_they_are_gone_when_supervisor_and_keeper_are_killed(world: World) -> None:
    cluster = world.open()
    await cluster.launch(order(world, "touch started; sleep 60"))
    await until("the command to have started", (world.folder / "started").exists)
    folder = folder_of(str(world.rank_folder()))
    assert _is_there(folder)
    both = [pid for pid in read_table() if read_arguments(pid)[-1:] == [str(world.rank_folder())]]
    assert len(both) == 2
    for pid in both:
        os.kill(pid, signal.SIGKILL)
    await world.ranks(cluster, RankState.LOST)
    assert not _is_there(folder)
    assert holding(world.folder) == []


async def test_a_state_that_holds_a_secret_is_not_kept(world: World) -> None:
    cluster = world.open()
    write = "import os; from hai_client import job; job.set_state('at ' + os.environ['HF_TOKEN'])"
    launch = replace(order(world, ""), command=("python", "-c", write))
    await cluster.launch(launch)
    (rank,) = await world.ranks(cluster, RankState.EXITED)
    assert rank.exit_code == 0
    assert rank.job_state is None
    assert holding(world.folder) == []
    log = b"".join(path.read_bytes() for path in (world.rank_folder() / "log").glob("*.log"))
    assert b"the state that the job has set holds a secret" in log


def test_a_pod_has_them_from_its_secret(pod: Pod) -> None:
    home, spec = pod.folder / "home", pod.folder / "spec"
    home.mkdir(parents=True)
    spec.mkdir()
    value = base64.b64encode(CANARY).decode()
    items = [
        {"name": "hf", "variable": "HF_TOKEN", "path": None, "value": value},
        {"name": "netrc", "variable": None, "path": "~/.netrc", "value": value},
    ]
    (spec / FILE).write_text(json.dumps({"schema": 1, "secrets": items}))
    script = 'test "$(cat ~/.netrc)" = "$HF_TOKEN" && echo "the same: $HF_TOKEN"'
    alone = {"nodes": ["n-b"], "has_secrets": True}
    pod.start("sh", "-c", script, env={"HAI_RANK": "0"}, task_env={"HOME": str(home)}, **alone)
    assert pod.wait() == 0
    assert pod.log()[-1:] == ["the same: [secret hf]"]
    assert pod.sent()[-1:] == ["the same: [secret hf]"]
    assert holding(pod.run) == []
    assert CANARY not in (pod.folder / "output").read_bytes() + (pod.folder / "message").read_bytes()
    assert not (home / ".netrc").is_symlink()
