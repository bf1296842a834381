"""Faults that are caused on a real cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
import yaml

from hai_client.quantity import parse_quantity
from hai_scheduler.adapters.kubernetes.launching import PodLauncher
from hai_scheduler.adapters.kubernetes.names import SELECTOR
from hai_scheduler.adapters.shared.status import OUT_OF_MEMORY
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.observation import Observation, RankObservation
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.errors import Temporary
from kit.kubernetes.harness import KubernetesHarness
from kit.kubernetes.passage import Passage
from kit.kubernetes.place import Place, admin

RUN = RunId("1.1")


async def ranks_when(harness: KubernetesHarness, cluster: Any, *states: RankState) -> tuple[RankObservation, ...]:
    """The ranks of the run as soon as they are in these states."""

    async def look() -> tuple[RankObservation, ...]:
        shown: list[Observation] = [run for run in await cluster.observe() if run.run_id == RUN]
        ranks = shown[0].ranks if shown else ()
        return ranks if tuple(rank.state for rank in ranks) == states else ()

    return await harness.settle(look)


async def all_started(harness: KubernetesHarness, ranks: int = 2) -> None:
    """Wait until the commands of a gang have been started: they wait for each other's supervisors."""

    async def look() -> bool:
        return all([await harness.starts(RUN, rank) for rank in range(ranks)])

    await harness.settle(look)


async def delete_pod(harness: KubernetesHarness, rank: int, **options: Any) -> None:
    async with admin() as api:
        await api.request("DELETE", f"{harness.place.path}/pods/hai-1-1-{rank}", body=options)


async def test_a_pod_that_is_deleted_by_hand_is_taken_away_with_notice(harness, cluster) -> None:
    harness.service.killed = False
    await cluster.launch(harness.launch(1, harness.waits(), "node-1", "node-2"))
    # A container runs before its supervisor can hear of signals.
    await all_started(harness)
    await ranks_when(harness, cluster, RankState.RUNNING, RankState.RUNNING)
    await delete_pod(harness, 1)

    async def leaving() -> RankObservation | None:
        (run,) = await cluster.observe()
        return run.ranks[1] if run.ranks[1].leaving_by or run.ranks[1].state.gone else None

    assert (await harness.settle(leaving)).leaving_by is not None

    async def gone() -> tuple[RankObservation, ...]:
        (run,) = await cluster.observe()
        return run.ranks if run.ranks[1].state.gone else ()

    first, second = await harness.settle(gone)
    assert (first.state, first.leaving_by) == (RankState.RUNNING, None)
    assert harness.ended_with(second.exit_code, 143)
    assert [report["rank"] for report in harness.service.reports if report["kind"] == "leaving"] == [1]


async def test_a_pod_that_is_removed_by_force_is_lost_and_never_created_again(harness, cluster) -> None:
    launch = harness.launch(1, harness.waits(), "node-1", "node-2")
    await cluster.launch(launch)
    await all_started(harness)
    await delete_pod(harness, 0, gracePeriodSeconds=0)
    await ranks_when(harness, cluster, RankState.LOST, RankState.RUNNING)
    second = await harness.open()
    await second.launch(launch)
    await ranks_when(harness, second, RankState.LOST, RankState.RUNNING)
    assert await harness.starts(RUN, 0) == 1


async def test_an_image_that_cannot_be_pulled_takes_the_gang_down_and_says_why(harness) -> None:
    cluster = await harness.open_with(
        image="127.0.0.1:9/no/such:1", image_pull_policy="Always", blocked_timeout=timedelta(seconds=3)
    )
    await cluster.launch(harness.launch(1, harness.waits(), "node-1", "node-2"))
    ranks = await ranks_when(harness, cluster, RankState.EXITED, RankState.EXITED)
    assert any("no/such:1" in (rank.start_error or "") for rank in ranks)
    again = await harness.open()
    assert await ranks_when(harness, again, RankState.EXITED, RankState.EXITED) == ranks, "the reason was recorded"


async def test_a_rank_that_runs_out_of_memory_says_so(harness) -> None:
    async with admin() as api:
        node = await api.request("GET", f"/api/v1/nodes/{harness.node('node-1')}")
    share = 128 * 2**20 / float(parse_quantity(node["status"]["allocatable"]["memory"]))
    cluster = await harness.open_with(memory_limit_share=share)
    await cluster.launch(harness.launch(1, ("python3", "-c", "x = b'1' * 2**30")))
    (rank,) = await ranks_when(harness, cluster, RankState.EXITED)
    assert (rank.exit_code, rank.start_error) == (137, None)
    assert rank.message == OUT_OF_MEMORY


async def test_a_launch_that_was_killed_on_its_way_is_completed_by_the_next_service(
    harness, cluster, monkeypatch
) -> None:
    launch = harness.launch(1, harness.waits(), "node-1", "node-2")
    create, made = PodLauncher._create, []

    async def dies(self: PodLauncher, kind: str, *args: Any) -> None:
        if made:
            raise asyncio.CancelledError
        made.append(kind)
        await create(self, kind, *args)

    with monkeypatch.context() as patch, suppress(asyncio.CancelledError):
        patch.setattr(PodLauncher, "_create", dies)
        await cluster.launch(launch)
    await cluster.close()
    second = await harness.open()
    await second.launch(launch)
    await all_started(harness)
    await ranks_when(harness, second, RankState.RUNNING, RankState.RUNNING)
    assert [await harness.starts(RUN, rank) for rank in (0, 1)] == [1, 1]


async def test_a_run_that_was_launched_is_found_by_a_service_that_never_heard_of_it(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.waits()))
    await cluster.close()
    second = await harness.open()
    await all_started(harness, 1)
    await ranks_when(harness, second, RankState.RUNNING)
    await second.kill(RUN)
    (rank,) = await ranks_when(harness, second, RankState.EXITED)
    assert harness.ended_with(rank.exit_code, 143)
    await second.finalize(RUN)

    async def gone() -> bool:
        return not await second.observe()

    await harness.settle(gone)
    async with admin() as api:

        async def secret_is_gone() -> bool:
            secrets = await api.request("GET", f"{harness.place.path}/secrets", query={"labelSelector": SELECTOR})
            return not secrets["items"]

        await harness.settle(secret_is_gone)


@pytest.fixture
async def door(place: Place, tmp_path: Path) -> AsyncIterator[tuple[Passage, str]]:
    """A proxy to the API server that can be shut, and a kubeconfig that uses it."""
    config = yaml.safe_load(await asyncio.to_thread(Path(place.kubeconfigs["scheduler"]).read_text))
    name = next(each["context"]["cluster"] for each in config["contexts"] if each["name"] == config["current-context"])
    target = next(each["cluster"] for each in config["clusters"] if each["name"] == name)
    address = urlparse(target["server"])
    door = Passage((address.hostname, address.port or 443))
    await door.open()
    target["tls-server-name"] = target.get("tls-server-name", address.hostname)
    target["server"] = f"https://127.0.0.1:{door.port}"
    file = tmp_path / "kubeconfig"
    await asyncio.to_thread(file.write_text, yaml.safe_dump(config))
    yield door, str(file)
    await door.shut()


async def test_nothing_is_decided_while_the_api_server_is_away_and_everything_is_seen_when_it_is_back(
    harness, door
) -> None:
    way, kubeconfig = door
    cluster = await harness.open_with(
        kubeconfig=kubeconfig, stale_after=timedelta(seconds=4), watch_for=timedelta(seconds=2)
    )
    await cluster.launch(harness.launch(1, harness.waits()))
    await ranks_when(harness, cluster, RankState.RUNNING)
    await way.shut()

    async def refuses() -> str:
        try:
            await cluster.observe()
        except Temporary as error:
            return str(error)
        return ""

    assert "for more than 4 s" in await harness.settle(refuses)
    with pytest.raises(Temporary):
        await cluster.nodes()
    await harness.release()
    other = await harness.open()
    await ranks_when(harness, other, RankState.EXITED)
    await way.open()

    async def sees() -> bool:
        return not await refuses()

    await harness.settle(sees)
    (rank,) = await ranks_when(harness, cluster, RankState.EXITED)
    assert rank.exit_code == 0
