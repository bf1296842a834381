"""One public class name is one thing in the whole repository (docs/decisions/0022-one-vocabulary.md)."""

from __future__ import annotations

import ast
from collections import defaultdict

import pytest

from docs.kit import files, name_of

#: Names of several classes, by what makes them the same thing on several sides, or why they are left.
EXCEPTIONS = {
    "a thing of the service, and the client's class for it, which `make reference` writes": """
        Checkpoint Cluster CodeSnapshot ContainerEnvironment DecisionPage Environment
        EnvironmentDetail EnvironmentList Event EventKind EventPage Explanation Failure Forecast
        ForecastAssumption ForecastCost GroupOverview HaienvFacts Health Holder LevelCount LogCount
        LogHits LogLine LogPage MountRule MountRuleList Node NodeList NodeTask Notice OrphanList
        OwnQuota Phases Policy PolicyNumber PolicyValue Quota QuotaList Rank Recording RecordingList
        ProcessTrace RecordingPart Run RunList TraceSummary UsageLevel
        BudgetList GroupBudget NodesReport NodesRow Rate RateList ReportRow
        AuditEntry AuditPage ClusterHealth DatabaseHealth PlatformHealth ResolvedMounts
        SchedulerHealth UserDetail UserList UserQuota
        Delivery Notification NotificationChannel NotificationPage NotificationRule NotificationRules
        DisplacedTask EndedCount GroupQueue GroupTrial LaterTask LevelTrial MarkPreview MeanUse MovedTask
        Overview PreviewTask Queue QueueTask ShortWait TaskActionResult TaskActionResults Trial TrialSide UseNow
        SnapshotRules SnapshotState Task TaskPage TaskSummary Verdict WhatIf""",
    "the same error on both sides of REST": """
        HaiError Invalid NotFound Forbidden Conflict QuotaExceeded Unavailable Problem""",
    "the same part of an adapter, for each cluster": "Marks",
    "the same callback, for two frameworks": "HaiCallback",
    "how a type is described, by who writes the client and by who reads in it": "Several Table",
    "settings, of the client and of the service; their sections are what users write": "Settings",
    "the door of spot containers, on the Hub's side and on JupyterLab's": "SpotHandler",
    "what a command prints, what a step prints, and what an answer has: left": "Output",
}


def definitions() -> dict[str, list[str]]:
    """Where each public class of the packages is defined."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in files():
        name = name_of(file)
        if file.suffix != ".py" or name.startswith("tests/") or "/hai_" not in name:
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(f"{name}:{node.lineno}")
    return found


@pytest.fixture(scope="module")
def twice() -> dict[str, list[str]]:
    return {name: places for name, places in definitions().items() if len(places) > 1}


def test_a_class_name_is_one_thing(twice: dict[str, list[str]]) -> None:
    listed = set(" ".join(EXCEPTIONS.values()).split())
    assert {name: places for name, places in twice.items() if name not in listed} == {}


def test_no_exception_is_there_without_need(twice: dict[str, list[str]]) -> None:
    listed = " ".join(EXCEPTIONS.values()).split()
    assert [name for name in listed if name not in twice or listed.count(name) > 1] == []
