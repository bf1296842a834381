"""A spot container on a cluster: the spawner makes no pod, and the run gets the server's environment."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("kubespawner")

from traitlets.config import Config

from hai_spawner.containers.mixin import HaiSpawnerMixin
from hai_spawner.sizes.allocations import Allocations
from hai_spawner.spot.kube import HaiSpotKubeSpawner
from hai_spawner.spot.server import SpotServer
from unit.spawner.spawn_kit import SIZES, a_hub, a_user


class FakeScheduler:
    def __init__(self) -> None:
        self.submitted: list[dict[str, Any]] = []

    async def submit(self, body: dict[str, Any], key: str) -> int:
        self.submitted.append(body)
        return 41

    async def task(self, task: int) -> dict[str, Any]:
        return {"id": task, "state": "queued", "held": False, "runs": []}


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> FakeScheduler:
    monkeypatch.setattr(HaiSpawnerMixin, "allocations", Allocations())
    monkeypatch.setattr("kubespawner.spawner.load_config", lambda **_: None)
    monkeypatch.setattr("kubespawner.spawner.shared_client", lambda _: None)
    made = FakeScheduler()
    monkeypatch.setattr(SpotServer, "scheduler", made)
    return made


def spawner(config: Config | None = None, **options: Any) -> HaiSpotKubeSpawner:
    user = a_user()
    user.db = SimpleNamespace(commit=lambda: None)
    made = HaiSpotKubeSpawner(
        user=user, hub=a_hub(), _mock=True, sizes=SIZES, namespace="labs", image="registry.example/lab:1", config=config
    )
    made.orm_spawner = SimpleNamespace(user_options=options, name="gpu", state={}, server=None)
    made.user_options = options
    made.api_token = "secret"
    return made


async def test_no_size_is_taken_no_pod_is_made_and_the_run_learns_what_to_run(scheduler: FakeScheduler) -> None:
    config = Config()
    config.SpotServer.port = 8888
    made = spawner(config, spot={"gpus": 4}, environment="torch")
    await made.run_pre_spawn_hook()
    assert list(made.allocations) == []
    start = asyncio.ensure_future(made.start())
    for _ in range(20):
        await asyncio.sleep(0)
    [body] = scheduler.submitted
    assert body["command"] == ["python3", "-m", "hai_client.spot"]
    assert (body["cwd"], body["gpus"], body["environment"]) == ("/", 4, "torch")
    assert body["env"]["HAI_SPOT_PORT"] == "8888"
    orders = made.spot.knock("41.1", "10.1.2.3", 8888, None)
    assert orders is not None
    assert await start == "http://10.1.2.3:8888"
    assert orders["command"][0] == "jupyterhub-singleuser"
    assert orders["env"]["JUPYTERHUB_SERVICE_URL"].startswith("http://0.0.0.0:8888")
    assert "NVIDIA_VISIBLE_DEVICES" not in orders["env"], "devices are the node's to give"


def test_what_an_administrator_sets_wins(scheduler: FakeScheduler) -> None:
    config = Config()
    config.SpotServer.command = ["/opt/python", "-m", "hai_client.spot"]
    assert spawner(config, spot=True).spot.command[0] == "/opt/python"
