"""Alarms that one look can decide have the names and words of Prometheus' alerts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from docs.kit import ROOT
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.service.insight.platform_details import alarms, state_of
from hai_scheduler.service.insight.queries import NodeHolder, NodeView
from hai_scheduler.service.platform.health import WellBeing
from hai_scheduler.service.platform.loop_status import LoopStatus
from kit.builders import T0
from monitoring.alerts import ALERTS

WELL = WellBeing(silence=timedelta(seconds=1), wrong=None, deciding=True)
LOOP = LoopStatus(
    holder="a",
    at=T0,
    last_tick=T0,
    tick_seconds=0.1,
    plan_seconds=0.1,
    ticks=3,
    trouble="no pods",
    blind=True,
    policy_trouble="slice is 1",
    rotation_alarms=0,
)
NODES = [
    NodeView(node=Node(name="a", gpus=2, ready=False)),
    NodeView(node=Node(name="b", gpus=2, mark=NodeMark.QUARANTINED)),
]


def test_a_platform_that_is_well_has_no_alarm() -> None:
    assert alarms(WELL, None, [NodeView(node=Node(name="a", gpus=2))]) == []


def test_every_alarm_is_an_alert_of_the_table_with_its_words_and_a_runbook() -> None:
    table = {alert.name: alert for alert in ALERTS}
    silent = WellBeing(silence=timedelta(seconds=61), wrong="x", deciding=False)
    found = alarms(silent, LOOP, NODES)
    assert {alarm.name for alarm in found} == {
        "HaiSchedulerSilent",
        "HaiEffectsFail",
        "HaiNodesLost",
        "HaiNodesQuarantined",
    }
    for alarm in found:
        assert (alarm.severity, alarm.summary) == (table[alarm.name].severity, table[alarm.name].summary)
        assert (ROOT / "docs" / alarm.runbook).is_file()
        assert ((alarm.group, alarm.count) == ("training", 1)) == alarm.name.startswith("HaiNodes")
    assert [alarm.detail for alarm in found if alarm.name == "HaiEffectsFail"] == [
        "The loop cannot see the nodes of the cluster.",
        "Decisions cannot be carried out: no pods",
        "Policy numbers of admins are not used: slice is 1",
    ]


def test_the_limit_of_silence_is_that_of_the_alert() -> None:
    at_the_limit = WellBeing(silence=timedelta(seconds=60), wrong=None, deciding=True)
    assert alarms(at_the_limit, None, []) == []
    never = WellBeing(silence=None, wrong="x", deciding=False)
    assert [alarm.name for alarm in alarms(never, None, [])] == ["HaiSchedulerSilent"]


@pytest.mark.parametrize(
    ("node", "held", "state"),
    [
        (Node(name="a", gpus=2), False, "free"),
        (Node(name="a", gpus=2), True, "held"),
        (Node(name="a", gpus=2, room=1), False, "crowded"),
        (Node(name="a", gpus=2, ready=False), True, "lost"),
        (Node(name="a", gpus=2, orphan="7.1"), False, "orphan"),
        (Node(name="a", gpus=2, mark=NodeMark.DRAINING), False, "draining"),
        (Node(name="a", gpus=2, mark=NodeMark.DRAINING), True, "held"),
    ],
)
def test_a_node_has_one_state(node: Node, held: bool, state: str) -> None:
    holders = (NodeHolder(task_id=1, user="ann", gpus=()),) if held else ()
    assert state_of(NodeView(node=node, holders=holders)) == state
