"""What Prometheus reads: counts that add up, of tasks, nodes, requests and the loop."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.metrics import Metrics
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.tallies.families import DATABASE, START
from hai_scheduler.core.tallies.tallies import Tallies
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.insight.census import Count, TaskKind
from hai_scheduler.service.insight.queries import NodeView
from hai_scheduler.service.insight.waits import OverallDemand
from hai_scheduler.service.platform.health import SILENCE
from hai_scheduler.service.platform.loop_status import LoopStatus
from hai_scheduler.service.shared.settings import LabelSettings
from hai_scheduler.service.tallies.kept import KeptTallies
from kit.builders import T0, a_node, at

STATUS = LoopStatus(
    holder="loop-1", at=T0, last_tick=at(-2), tick_seconds=0.25, plan_seconds=0.125, ticks=7, trouble=None,
    blind=False, policy_trouble=None, rotation_alarms=0,
)  # fmt: skip


WAITS = {("training", Priority.HIGH): 50.0, ("dev", Priority.HIGH): 70.0}


class News:
    """What the loop last said."""

    def __init__(self, status: LoopStatus | None = STATUS, silence: timedelta | None = timedelta(0)) -> None:
        self.status = status
        self.silent_for = silence
        self.away = False
        self.looks = 0

    async def look(self) -> None:
        self.looks += 1
        if self.away:
            raise Temporary("the database is away")

    def silence(self) -> timedelta | None:
        return self.silent_for


async def read(
    metrics: Metrics, counts: dict[TaskKind, Count] | None = None, nodes: list[NodeView] | None = None
) -> dict[str, float]:
    """All values, by name with its labels."""

    async def everything() -> tuple[dict[TaskKind, Count], list[NodeView]]:
        return counts or {}, nodes or []

    async def demand() -> OverallDemand:
        return OverallDemand(waits=WAITS, users={("ann", "held"): 3, ("ann", "waiting"): 1})

    queries: Any = SimpleNamespace(everything=everything, demand=demand)
    text = (await metrics.exposition(queries)).decode()
    return {name: float(value) for name, value in re.findall(r"^(hai_\S+) (\S+)$", text, re.MULTILINE)}


def metrics_of(news: News) -> Metrics:
    reader: Any = news
    return Metrics(reader)


# -- tasks ------------------------------------------------------------------------------------------


async def test_tasks_of_all_groups_are_counted_by_state_and_level() -> None:
    found = await read(
        metrics_of(News()),
        {
            TaskKind("a", TaskState.RUNNING, Priority.HIGH): Count(2, 5),
            TaskKind("b", TaskState.RUNNING, Priority.HIGH): Count(1, 4),
            TaskKind("a", TaskState.QUEUED, None): Count(3, 3),
        },
    )
    assert found['hai_tasks{priority="HIGH",state="running"}'] == 3
    assert found['hai_task_nodes{priority="HIGH",state="running"}'] == 9
    assert found['hai_tasks{priority="AUTO",state="queued"}'] == 3


async def test_a_level_without_tasks_is_0_and_an_ended_state_is_not_there() -> None:
    found = await read(metrics_of(News()))
    shown = {name for name in found if name.startswith("hai_tasks{")}
    states = [state for state in TaskState if not state.ended]
    assert len(shown) == len(states) * len(Priority)
    assert not any(found[name] for name in shown)
    assert not any("succeeded" in name for name in shown)


async def test_what_is_no_longer_there_is_not_shown_any_more() -> None:
    metrics = metrics_of(News())
    await read(metrics, {TaskKind("a", TaskState.QUEUED, None): Count(3, 3)}, [NodeView(node=a_node(group="old"))])
    found = await read(metrics)
    assert 'hai_tasks{priority="AUTO",state="queued"}' not in found
    assert not any('group="old"' in name for name in found)


# -- nodes ------------------------------------------------------------------------------------------

HOLDER: Any = SimpleNamespace(gpus=())


@pytest.mark.parametrize(
    ("view", "state"),
    [
        (NodeView(node=a_node()), "free"),
        (NodeView(node=a_node(), holders=(HOLDER,)), "held"),
        (NodeView(node=a_node(ready=False), holders=(HOLDER,)), "lost"),
        (NodeView(node=a_node(mark=NodeMark.CORDONED)), "cordoned"),
        (NodeView(node=a_node(mark=NodeMark.DRAINING), holders=(HOLDER,)), "held"),
        (NodeView(node=a_node(mark=NodeMark.DRAINING)), "draining"),
        (NodeView(node=a_node(mark=NodeMark.QUARANTINED)), "quarantined"),
        (NodeView(node=a_node(closed=True)), "closed"),
        (NodeView(node=a_node(closed=True, mark=NodeMark.CORDONED)), "cordoned"),
        (NodeView(node=a_node(orphan=RunId("4.1"))), "orphan"),
        (NodeView(node=a_node(orphan=RunId("4.1"), closed=True)), "orphan"),
    ],
)
async def test_a_node_is_in_one_state_which_has_a_word(view: NodeView, state: str) -> None:
    found = await read(metrics_of(News()), nodes=[view])
    shown = {name: value for name, value in found.items() if name.startswith("hai_nodes{")}
    # Free, held and lost nodes are shown also where there are none.
    zeros = {f'hai_nodes{{group="training",state="{each}"}}': 0 for each in ("free", "held", "lost")}
    assert shown == zeros | {f'hai_nodes{{group="training",state="{state}"}}': 1}


async def test_nodes_in_quarantine_are_counted_by_group_also_those_that_are_lost_and_0_where_there_are_none() -> None:
    nodes = [
        NodeView(node=a_node("n1", mark=NodeMark.QUARANTINED)),
        NodeView(node=a_node("n2", mark=NodeMark.QUARANTINED, ready=False)),
        NodeView(node=a_node("n3")),
        NodeView(node=a_node("n4", group="dev")),
    ]
    found = await read(metrics_of(News()), nodes=nodes)
    assert found['hai_quarantined_nodes{group="training"}'] == 2
    assert found['hai_quarantined_nodes{group="dev"}'] == 0


# -- the loop ---------------------------------------------------------------------------------------


async def test_values_of_the_loop_are_those_that_it_reports() -> None:
    news = News()
    found = await read(metrics_of(news))
    assert found["hai_ticks"] == 7
    assert found["hai_last_tick_timestamp_seconds"] == at(-2).timestamp()
    assert news.looks == 1


@pytest.mark.parametrize("status", [None, replace(STATUS, last_tick=None)])
async def test_a_loop_that_has_not_ticked_has_no_time_of_its_last_tick(status: LoopStatus | None) -> None:
    found = await read(metrics_of(News(status)))
    assert found["hai_last_tick_timestamp_seconds"] == 0
    assert found["hai_ticks"] == (0 if status is None else 7)


@pytest.mark.parametrize(
    ("silence", "leading"), [(timedelta(0), 1), (SILENCE, 0), (SILENCE - timedelta(seconds=1), 1), (None, 0)]
)
async def test_a_loop_that_is_silent_does_not_lead(silence: timedelta | None, leading: int) -> None:
    assert (await read(metrics_of(News(silence=silence))))["hai_leading"] == leading


async def test_while_the_database_is_away_what_was_last_heard_is_shown() -> None:
    news = News()
    news.away = True
    assert (await read(metrics_of(news)))["hai_ticks"] == 7


async def test_an_alarm_is_counted_once_though_it_is_read_again_and_another_loop_begins_at_0() -> None:
    news = News(replace(STATUS, rotation_alarms=2))
    metrics = metrics_of(news)
    counts = [(await read(metrics))["hai_rotation_alarms_total"] for _ in range(2)]
    news.status = replace(STATUS, rotation_alarms=5)
    counts.append((await read(metrics))["hai_rotation_alarms_total"])
    news.status = replace(STATUS, holder="loop-2", rotation_alarms=1)
    counts.append((await read(metrics))["hai_rotation_alarms_total"])
    news.status = None
    counts.append((await read(metrics))["hai_rotation_alarms_total"])
    assert counts == [2, 2, 5, 6, 6]


# -- requests ---------------------------------------------------------------------------------------


async def test_requests_are_counted_by_route_and_a_method_that_there_is_not_is_other() -> None:
    """Labels that a client could choose would make metrics without end."""
    metrics = metrics_of(News())
    for method in ("GET", "GET", "BREW", "X" * 99):
        metrics.request(method, "/tasks/{task}", Kind.READ, 200, 0.02)
    metrics.request("GET", "none", None, 404, 0.001)
    metrics.request("GET", "/events", Kind.STREAM, 200, 3000)
    found = await read(metrics)
    counts = {name: value for name, value in found.items() if name.startswith("hai_http_requests_total")}
    assert counts == {
        'hai_http_requests_total{method="GET",route="/tasks/{task}",status="2xx"}': 2,
        'hai_http_requests_total{method="other",route="/tasks/{task}",status="2xx"}': 2,
        'hai_http_requests_total{method="GET",route="none",status="4xx"}': 1,
        'hai_http_requests_total{method="GET",route="/events",status="2xx"}': 1,
    }
    times = {name: value for name, value in found.items() if name.startswith("hai_http_request_seconds_count")}
    assert times == {
        'hai_http_request_seconds_count{kind="read"}': 4,
        'hai_http_request_seconds_count{kind="public"}': 1,
    }, "a stream takes as long as its client likes"


async def test_streams_incidents_and_refusals_are_counted() -> None:
    metrics = metrics_of(News())
    metrics.stream_opened()
    metrics.stream_opened()
    metrics.stream_closed()
    metrics.incident()
    metrics.refused(Kind.READ, "rate")
    found = await read(metrics)
    assert found["hai_http_streams"] == 1
    assert found["hai_http_incidents_total"] == 1
    assert found['hai_requests_refused_total{kind="read",reason="rate"}'] == 1


async def test_limits_show_how_much_of_them_is_in_use_now() -> None:
    gates = {kind: SimpleNamespace(working=0, waiting=0) for kind in Kind}
    metrics = metrics_of(News())
    limits: Any = gates
    metrics.show_limits(limits)
    gates[Kind.READ].working, gates[Kind.STREAM].waiting = 3, 4
    found = await read(metrics)
    assert found[f'hai_requests_working{{kind="{Kind.READ.value}"}}'] == 3
    assert found[f'hai_requests_waiting{{kind="{Kind.STREAM.value}"}}'] == 4
    assert sum(value for name, value in found.items() if name.startswith("hai_requests_w")) == 7


# -- what is counted and kept ---------------------------------------------------------------------------


class Kept:
    """What the loop has counted, as it is kept."""

    def __init__(self) -> None:
        self.kept = KeptTallies(groups=("training",))
        self.away = False

    async def look(self) -> None:
        if self.away:
            raise Temporary("the database is away")


async def test_what_the_loop_has_counted_and_what_this_process_has_are_shown_together() -> None:
    kept, own = Kept(), Tallies()
    for seconds in (0.4, 7.0, 7000.0):
        kept.kept.tallies.observe(START, ("training",), seconds)
    kept.kept.tallies.observe(DATABASE, ("loop", "commit"), 0.002)
    own.observe(DATABASE, ("api", "select"), 0.002)
    news: Any = News()
    metrics = Metrics(news, kept, own=own)  # type: ignore[arg-type]
    for away in (False, True):
        kept.away = away
        found = await read(metrics)
        buckets = {bound: found[f'hai_start_seconds_bucket{{group="training",le="{bound}"}}'] for bound in STARTS}
        assert buckets == {"0.5": 1, "5.0": 1, "10.0": 2, "600.0": 2, "+Inf": 3}
        assert found['hai_start_seconds_count{group="training"}'] == 3
        assert found['hai_start_seconds_sum{group="training"}'] == pytest.approx(7007.4)
        assert found['hai_db_seconds_count{op="commit",process="loop"}'] == 1
        assert found['hai_db_seconds_count{op="select",process="api"}'] == 1, "it is not added twice"


STARTS = ("0.5", "5.0", "10.0", "600.0", "+Inf")


async def test_node_groups_without_a_label_are_others_and_of_waits_the_longest_counts() -> None:
    news: Any = News()
    chosen = LabelSettings(groups=frozenset({"gold"}))
    found = await read(Metrics(news, labels=chosen), nodes=[NodeView(node=a_node("a")), NodeView(node=a_node("b"))])
    assert found['hai_nodes{group="other",state="free"}'] == 2
    assert found['hai_oldest_wait_seconds{group="other",priority="HIGH"}'] == 70
    assert found['hai_quarantined_nodes{group="other"}'] == 0


@pytest.mark.parametrize("by_user", [False, True])
async def test_users_are_named_only_if_the_settings_say_so(by_user: bool) -> None:
    news: Any = News()
    found = await read(Metrics(news, labels=LabelSettings(by_user=by_user)))
    shown = {name: value for name, value in found.items() if "ann" in name}
    expected = {'hai_user_task_nodes{state="held",user="ann"}': 3, 'hai_user_task_nodes{state="waiting",user="ann"}': 1}
    assert shown == (expected if by_user else {})


@pytest.mark.parametrize(
    ("changes", "troubled"),
    [
        ({}, set()),
        ({"blind": True}, {"cluster"}),
        ({"trouble": "x"}, {"effects"}),
        ({"policy_trouble": "x"}, {"policy"}),
    ],
)
async def test_troubles_of_the_loop_are_shown(changes: dict[str, Any], troubled: set[str]) -> None:
    found = await read(metrics_of(News(replace(STATUS, **changes))))
    shown = {what: found[f'hai_trouble{{what="{what}"}}'] for what in ("cluster", "effects", "policy")}
    assert {what for what, value in shown.items() if value} == troubled
