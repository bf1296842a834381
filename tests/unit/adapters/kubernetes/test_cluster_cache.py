"""The cached view of the cluster: which runs and nodes its objects make, and who is told when they change."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.adapters.kubernetes.cluster_cache import ClusterCache
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.errors import Absent, Temporary
from kit.builders import T0, a_launch, at
from kit.waiting import until
from unit.adapters.kubernetes.conftest import one, state_is
from unit.adapters.kubernetes.things import a_kube_node, a_pod, a_service, running, some_settings, stamp, terminated

RUN = RunId("1.1")

# -- against a server -------------------------------------------------------------------------------


async def test_a_server_that_was_never_there_is_temporary(server, opened, monkeypatch) -> None:
    monkeypatch.setattr("hai_scheduler.adapters.kubernetes.cluster_cache.FIRST_LOOK_S", 0.2)
    await server.stop()
    with pytest.raises(Temporary, match="has not been seen yet"):
        await opened().observe()


async def test_a_late_answer_brings_no_removed_pod_back(server, cluster) -> None:
    await cluster.launch(a_launch())
    late = server.objects["pods"]["hai-1-1-0"]
    server.remove("pods", "hai-1-1-0")
    await state_is(cluster, RankState.LOST)
    cluster._sight.pods.put(late)
    assert (await one(cluster)).ranks[0].state is RankState.LOST


async def test_an_older_state_never_replaces_a_newer_one(server, cluster) -> None:
    await cluster.launch(a_launch())
    older = server.objects["pods"]["hai-1-1-0"]
    server.status("hai-1-1-0", **running())
    await state_is(cluster, RankState.RUNNING)
    cluster._sight.pods.put(older)
    assert (await one(cluster)).ranks[0].state is RankState.RUNNING


async def test_changes_wake_up_for_pods_and_not_for_heartbeats(server, cluster) -> None:
    await cluster.launch(a_launch())
    changes = cluster.changes()
    woken = asyncio.ensure_future(anext(changes))
    beating = a_kube_node("node-2")
    beating["status"]["conditions"][0]["lastHeartbeatTime"] = stamp(10)
    server.put("nodes", beating)

    async def seen() -> bool:
        (_, heard) = (await cluster.nodes(), cluster._sight.nodes.items["node-2"]["status"]["conditions"][0])
        return "lastHeartbeatTime" in heard

    await until("the heartbeat to be observed", seen)
    assert not woken.done()
    server.status("hai-1-1-0", **running())
    await asyncio.wait_for(woken, 10)
    await changes.aclose()


async def test_a_closed_cluster_says_so(server, cluster) -> None:
    await cluster.observe()
    await cluster.close()
    with pytest.raises(Temporary, match="closed"):
        await cluster.observe()


# -- by itself, with every object put by hand ---------------------------------------------------------

Thing = dict[str, Any]
GANG = a_launch(nodes=("node-1", "node-2"))


class Still:
    """A clock that stands still."""

    def now(self):
        return T0


class Listener:
    """Hears of changes, as a reader of `changes` does."""

    def __init__(self, cache: ClusterCache) -> None:
        self._event = asyncio.Event()
        cache._listeners.add(self._event)

    @property
    def woken(self) -> bool:
        """Whether there was a change since this was last asked."""
        woken = self._event.is_set()
        self._event.clear()
        return woken


@pytest.fixture
def cache() -> ClusterCache:
    no_server: Any = None
    clock: Any = Still()
    return ClusterCache(no_server, clock, some_settings(stale_after=timedelta(seconds=30)))


def newer(thing: Thing, **changes: Any) -> Thing:
    """A later state of the same object."""
    version = str(int(thing["metadata"]["resourceVersion"]) + 1)
    metadata = {**thing["metadata"], **changes.get("metadata", {}), "resourceVersion": version}
    return {**thing, **changes, "metadata": metadata}


def test_a_run_is_its_service_and_its_pods_whichever_comes_first(cache: ClusterCache) -> None:
    cache.pods.put(a_pod(GANG, 1))
    assert (cache.runs()[RUN].record, sorted(cache.runs()[RUN].pods)) == (None, [1])
    cache.services.put(a_service(GANG))
    cache.pods.put(a_pod(GANG, 0))
    run = cache.run(RUN)
    assert run is not None
    assert run.record is not None
    assert (run.record.nodes, sorted(run.pods)) == (("node-1", "node-2"), [0, 1])


def test_a_run_that_has_not_changed_is_the_same_object(cache: ClusterCache) -> None:
    cache.services.put(a_service(GANG))
    cache.pods.put(a_pod(a_launch(2)))
    first = dict(cache.runs())
    cache.pods.put(newer(a_pod(a_launch(2)), status=running()))
    second = cache.runs()
    assert second[RUN] is first[RUN]
    assert second[RunId("2.1")] is not first[RunId("2.1")]


def test_one_run_is_put_together_without_the_others_and_a_malformed_id_is_refused(cache: ClusterCache) -> None:
    cache.services.put(a_service(GANG))
    cache.services.put(a_service(a_launch(2)))
    assert cache.run(RUN) is cache.runs()[RUN]
    assert cache.run(RunId("3.1")) is None
    with pytest.raises(Absent, match=r"no run '\.\./1'"):
        cache.run(RunId("../1"))


def test_of_a_pod_that_is_gone_the_last_state_is_kept_while_its_run_has_a_service(cache: ClusterCache) -> None:
    cache.services.put(a_service(GANG))
    ended = a_pod(GANG, 1, **terminated(3))
    cache.pods.put(ended)
    cache.pods.drop(ended["metadata"]["name"])
    run = cache.runs()[RUN]
    assert (run.pods, list(run.removed)) == ({}, [1])
    assert run.removed[1]["status"] == ended["status"]
    cache.services.drop("hai-1-1")
    assert cache.runs() == {}
    cache.services.put({**a_service(GANG), "metadata": {**a_service(GANG)["metadata"], "uid": "another"}})
    assert cache.runs()[RUN].removed == {}, "they were pods of the Service that is gone"


def test_a_pod_without_a_service_leaves_nothing_behind(cache: ClusterCache) -> None:
    cache.pods.put(a_pod(GANG, 0))
    assert RUN in cache.runs()
    cache.pods.drop("hai-1-1-0")
    assert (cache.runs(), cache.run(RUN)) == ({}, None)
    cache.services.put(a_service(GANG))
    assert cache.runs()[RUN].removed == {}


def test_a_pod_that_is_given_another_runs_labels_is_counted_there_alone(cache: ClusterCache) -> None:
    pod = a_pod(GANG, 0)
    cache.pods.put(pod)
    assert list(cache.runs()) == [RUN]
    moved = {**pod["metadata"]["labels"], "hai.jupyter.org/task": "5"}
    cache.pods.put(newer(pod, metadata={"labels": moved}))
    assert list(cache.runs()) == [RunId("5.1")]


def test_a_service_under_the_name_of_a_run_with_labels_of_another_is_not_its_record(cache: ClusterCache) -> None:
    service = a_service(GANG)
    service["metadata"]["labels"]["hai.jupyter.org/run"] = "7"
    cache.services.put(service)
    assert cache.run(RUN) is None


def test_objects_of_other_programs_are_no_runs(cache: ClusterCache) -> None:
    plain = {"metadata": {"name": "x", "uid": "u", "resourceVersion": "1"}}
    cache.pods.put(plain)
    cache.services.put(plain)
    assert cache.runs() == {}
    cache.pods.drop("x")
    cache.services.drop("x")
    assert cache.runs() == {}


# -- nodes --------------------------------------------------------------------------------------------


def test_nodes_of_a_group_are_the_platforms_by_name(cache: ClusterCache) -> None:
    for name in ("b", "a"):
        cache.nodes.put(a_kube_node(name))
    alien = a_kube_node("c")
    alien["metadata"]["labels"] = {}
    cache.nodes.put(alien)
    assert [node.name for node in cache.platform_nodes()] == ["a", "b"]
    cache.nodes.drop("a")
    assert [node.name for node in cache.platform_nodes()] == ["b"]


def test_since_when_a_node_is_not_ready_is_known_until_it_is_ready_or_gone(cache: ClusterCache) -> None:
    silent = a_kube_node("a", ready="Unknown", since=-60)
    cache.nodes.put(silent)
    assert cache.unready == {"a": at(-60)}
    cache.nodes.put(newer(a_kube_node("a")))
    assert cache.unready == {}
    cache.nodes.put(newer(newer(silent)))
    cache.nodes.drop("a")
    assert cache.unready == {}


async def test_who_listens_hears_of_what_matters(cache: ClusterCache) -> None:
    listener = Listener(cache)
    node = a_kube_node("a")
    cache.nodes.put(node)
    assert listener.woken
    node = newer(node)
    cache.nodes.put(node)
    assert not listener.woken, "a heartbeat"
    cache.nodes.put(newer(node, status=a_kube_node("a", ready="False")["status"]))
    assert listener.woken
    cache.nodes.drop("a")
    assert listener.woken
    for informer, thing in ((cache.services, a_service(GANG)), (cache.pods, a_pod(GANG))):
        informer.put(thing)
        assert listener.woken
        informer.drop(thing["metadata"]["name"])
        assert listener.woken


# -- how old the view is --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contacts", "stale"),
    [
        ((0, 0, 0), False),
        ((-30, 0, 0), False),
        ((0, 0, -31), True),
        ((0, None, 0), True),
    ],
)
def test_the_view_is_as_old_as_the_oldest_of_its_parts(cache: ClusterCache, contacts, stale: bool) -> None:
    for informer, seconds in zip((cache.nodes, cache.services, cache.pods), contacts, strict=True):
        informer.contact = None if seconds is None else at(seconds)
    assert cache.stale is stale
