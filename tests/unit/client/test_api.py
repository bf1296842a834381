from __future__ import annotations

from typing import Any

import pytest

from hai_client.api import Client
from hai_client.calls.base import Calls
from hai_client.calls.tasks import TaskCalls
from hai_client.errors import Invalid, NotLoggedIn


def test_tasks_are_gone_through_page_by_page(client: Client, platform: Any) -> None:
    for number in range(450):
        platform.add(f"t{number}")
    assert len(list(client.tasks())) == 450
    assert [call.query.get("cursor") for call in platform.said("GET", "/tasks")] == [None, "200", "400"]


def test_a_limit_is_kept_and_no_page_more_than_needed_is_asked_for(client: Client, platform: Any) -> None:
    for number in range(450):
        platform.add(f"t{number}")
    assert len(list(client.tasks(limit=210))) == 210
    assert [call.query["limit"] for call in platform.said("GET", "/tasks")] == ["200", "10"]


def test_pages_are_asked_for_only_as_far_as_tasks_are_taken(client: Client, platform: Any) -> None:
    for number in range(450):
        platform.add(f"t{number}")
    next(client.tasks())
    assert len(platform.calls) == 1


@pytest.mark.parametrize("key", ["digits", 41, "41", "alice/digits"])
def test_a_task_is_named_by_id_or_name_alike(client: Client, platform: Any, key: str | int) -> None:
    platform.add("digits")
    assert client.task(key).id == 41


def test_a_name_is_quoted_as_one_part_of_the_path(client: Client, platform: Any) -> None:
    platform.add("digits")
    client.task("alice/digits")
    assert platform.calls[-1].path.endswith("/tasks/alice%2Fdigits")


@pytest.mark.parametrize("key", ["", ".", ".."])
def test_a_key_that_would_be_another_path_is_refused_here(client: Client, platform: Any, key: str) -> None:
    with pytest.raises(Invalid, match=r"^task: "):
        client.task(key)
    assert platform.calls == []


def test_steering_calls_go_where_the_contract_says(client: Client, platform: Any) -> None:
    platform.add("digits")
    for act in (client.suspend, client.resume, client.hold):
        assert act("digits").id == 41
    assert client.set_priority("digits", "HIGH").priority == "HIGH"
    client.reorder("digits", before=7)
    assert platform.calls[-1].body == {"before": 7, "after": None}
    assert client.stop("digits").state == "stopped"
    assert [call.path.rpartition("/")[2] for call in platform.calls] == [
        "suspend", "resume", "hold", "priority", "order", "stop",
    ]  # fmt: skip


def test_an_order_names_one_neighbour(client: Client) -> None:
    with pytest.raises(Invalid, match="exactly one"):
        client.reorder("digits")


def test_runs_explanation_and_history_are_typed(client: Client, platform: Any, fake: Any) -> None:
    platform.add("digits", runs=[fake.run_of(1), fake.run_of(2)])
    assert [run.number for run in client.runs("digits")] == [1, 2]
    found = client.explain("digits")
    assert found.verdict is not None
    assert (found.verdict.kind, found.verdict.holders[0].name) == ("CAPACITY", "llm")
    assert client.task_events("digits", after=3, limit=9) == ()
    assert platform.calls[-1].query == {"after": "3", "limit": "9"}


def test_a_log_is_gone_through_to_its_end(client: Client, platform: Any) -> None:
    task = platform.add("digits", state="succeeded")
    platform.logs[task["id"]] = [f"{number}" for number in range(4500)]
    assert [line.text for line in client.logs("digits")] == platform.logs[task["id"]]
    assert [line.text for line in client.logs("digits", tail=2)] == ["4498", "4499"]


def test_the_platform_at_large(client: Client, platform: Any) -> None:
    assert [node.name for node in client.nodes()] == ["node-1", "node-2", "node-3"]
    assert client.cordon("node-2").mark == "cordoned"
    assert client.drain("node-2").mark == "draining"
    assert client.uncordon("node-2").mark == "none"
    assert client.set_quota("user:alice", "HIGH", None).limit is None
    assert len(client.quotas()) == 1
    client.delete_quota("user:alice", "HIGH")
    assert client.quotas() == ()
    assert client.pause().paused
    assert not client.unpause().paused
    assert client.cluster().groups[0].levels[0].waiting_nodes == 3
    assert client.policy().numbers[0].common.value == "30m"
    assert client.set_policy({"slice": "1h"}, group="a100").numbers[0].groups["a100"].source == "admin"
    assert client.me().quota[0].limit == 10


def test_health_needs_no_token(platform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from hai_client import settings

    monkeypatch.setenv("HAI_URL", platform.url)
    assert Client.of(settings.load()).health().status == "ok"
    with pytest.raises(NotLoggedIn, match="hai login --url"):
        Client()


def test_a_client_finds_its_own_way(platform: Any, fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAI_URL", platform.url)
    monkeypatch.setenv("HAI_TOKEN", fake.TOKEN)
    assert Client().me().name == "alice"


def test_the_groups_of_calls_have_no_name_in_common_and_each_works_alone(client: Client, platform: Any) -> None:
    """Else the first group would hide a call of another one."""
    groups = [group for group in Client.__mro__[1:] if group is not Calls and issubclass(group, Calls)]
    names = [name for group in groups for name in vars(group) if not name.startswith("_")]
    assert len(groups) == 14
    assert sorted(names) == sorted(set(names))
    assert {name for name in names if name in vars(Client)} == set()
    platform.add("digits")
    assert TaskCalls(client._http).task("digits").id == 41
