"""Which adapters the settings choose, and what is closed again when one of them cannot be opened."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hai_scheduler.adapters.environments.folder import HaienvFolder
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.local.cluster import LocalCluster
from hai_scheduler.adapters.local.files import LocalFiles
from hai_scheduler.adapters.system.socket_bus import SocketBus
from hai_scheduler.app import opening as module
from hai_scheduler.app.config import ConfigError, HaiScheduler, Settings
from hai_scheduler.app.opening import accounts_of, close_world, locations_of, open_world
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.secret import Secret
from hai_scheduler.store.store import SqlStore
from hai_scheduler.worker.pool import ProcessWorkers


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The settings of the API of one machine."""
    words = ["--role", "api", "--state-dir", str(tmp_path / "state"), "--port", "1", "--nodes", "2"]
    (tmp_path / "state").mkdir()
    return HaiScheduler().settings(words)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which adapters were closed, in order."""
    story: list[str] = []

    def watched(kind: type, name: str) -> None:
        close = kind.close

        async def closing(adapter: Any) -> None:
            story.append(name)
            await close(adapter)

        monkeypatch.setattr(kind, "close", closing)

    for kind, name in ((SqlStore, "store"), (LocalCluster, "cluster"), (SocketBus, "bus"), (ProcessWorkers, "workers")):
        watched(kind, name)
    return story


async def test_on_one_machine_ranks_are_processes_and_the_bus_is_sockets(settings: Settings, closed: list[str]) -> None:
    world = await open_world(settings, None)
    assert isinstance(world.cluster, LocalCluster)
    assert isinstance(world.bus, SocketBus)
    assert isinstance(world.files, LocalFiles)
    assert isinstance(world.workers, ProcessWorkers)
    assert world.haienvs is None
    assert len(await world.cluster.nodes()) == 2
    await close_world(world)
    assert closed == ["workers", "bus", "cluster", "store"]


@pytest.mark.parametrize(
    ("changes", "shared"),
    [
        ({"role": "loop"}, False),
        ({"role": "api"}, True),
        ({"role": "loop", "redis_url": Secret("redis://127.0.0.1:1/0")}, True),
    ],
)
async def test_a_folder_of_runs_that_other_processes_change_is_looked_at_each_time(
    settings: Settings, changes: dict[str, Any], shared: bool
) -> None:
    world = await open_world(replace(settings, **changes), None)
    assert world.cluster._runs._shared is shared
    assert (world.workers is None) is (changes["role"] == "loop"), "the loop answers no client"
    await close_world(world)


async def test_environments_of_haienv_are_where_the_settings_say(settings: Settings, tmp_path: Path) -> None:
    world = await open_world(replace(settings, haienv_root=tmp_path / "envs"), None)
    assert isinstance(world.haienvs, HaienvFolder)
    assert world.haienvs.root == str(tmp_path / "envs")
    await close_world(world)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"db_url": "mysql://h/x"}, r"^HaiScheduler\.db_url: "),
        ({"redis_url": Secret("http://:s3cret@h/0")}, r"^HaiScheduler\.redis_url: .*redis://HOST:6379/0"),
    ],
)
async def test_a_wrong_address_is_named_by_its_setting_and_not_shown(
    settings: Settings, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        await open_world(replace(settings, **changes), None)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("missing", "changes", "extra"),
    [
        ("psycopg", {"db_url": "postgresql://h/x"}, "postgres"),
        ("hai_scheduler.adapters.system.redis_bus", {"redis_url": Secret("redis://h/0")}, "redis"),
    ],
)
async def test_a_package_that_is_not_installed_is_named_with_how_to_get_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, missing: str, changes: dict[str, Any], extra: str
) -> None:
    if missing == "psycopg":

        async def away(*_: object) -> None:
            raise ModuleNotFoundError("no psycopg", name="psycopg")

        monkeypatch.setattr(module, "open_store", away)
    else:
        monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigError, match=rf"is missing: pip install 'hai-platform\[{extra}\]'"):
        await open_world(replace(settings, **changes), None)


async def test_what_is_open_already_is_closed_when_the_bus_cannot_be_opened(
    settings: Settings, closed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start is tried again while something is away: each try would leave connections behind."""

    async def away(*_: object) -> None:
        raise Temporary("the bus is away")

    monkeypatch.setattr(module, "open_socket_bus", away)
    with pytest.raises(Temporary):
        await open_world(settings, None)
    assert sorted(closed) == ["cluster", "store"]


@pytest.mark.parametrize("fails", ["cluster", "bus"])
async def test_on_kubernetes_too_what_is_open_already_is_closed(
    settings: Settings, closed: list[str], monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    async def close() -> None:
        closed.append("cluster")

    async def opened(*_: object, **__: object) -> Any:
        if fails == "cluster":
            raise Temporary("the API server is away")
        return SimpleNamespace(close=close)

    async def away(*_: object) -> None:
        raise Temporary("the bus is away")

    monkeypatch.setattr(module, "open_kubernetes", opened)
    monkeypatch.setattr(module, "open_socket_bus", away)
    pods = ClusterSettings(namespace="runs", api_url="http://hai:8090/api/v1")
    with pytest.raises(Temporary):
        await open_world(replace(settings, kubernetes=pods), None)
    assert sorted(closed) == (["store"] if fails == "cluster" else ["cluster", "store"])


# -- what ranks are told ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ip", "host"),
    [
        ("", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1"),
        ("10.0.0.5", "10.0.0.5"),
        ("::1", "[::1]"),
    ],
)
def test_ranks_are_told_an_address_that_they_can_call(settings: Settings, ip: str, host: str) -> None:
    told = locations_of(replace(settings, ip=ip, port=8090, prefix="/services/hai/"), None)
    assert told.api_url == f"http://{host}:8090/services/hai/api/v1"
    assert told.checkpoint_root == str(settings.state_dir / "checkpoints")


def test_ranks_in_pods_and_of_other_accounts_have_their_own_places(settings: Settings) -> None:
    pods = ClusterSettings(namespace="runs", api_url="http://hai:8090/api/v1", checkpoint_root="/ckpt")
    told = locations_of(replace(settings, kubernetes=pods), None)
    assert (told.api_url, told.checkpoint_root) == ("http://hai:8090/api/v1", "/ckpt")
    accounts: Any = SimpleNamespace(checkpoints="/var/lib/hai/{user}")
    assert locations_of(settings, accounts).checkpoint_root == "/var/lib/hai/{user}"


def test_without_a_pattern_for_accounts_there_are_none_and_a_wrong_one_is_named(settings: Settings) -> None:
    assert accounts_of(settings) is None
    with pytest.raises(ConfigError, match=r"^unix-users: "):
        accounts_of(replace(settings, unix_users="no-placeholder"))
