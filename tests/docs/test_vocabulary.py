"""One public class name is one thing in the whole repository (docs/decisions/0022-one-vocabulary.md)."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

import pytest

from docs.kit import files, name_of

#: Names of several classes, by what makes them the same thing on several sides, or why they are left.
EXCEPTIONS = {
    "a thing of the service, and the client's class for it, which `make reference` writes": """
        Checkpoint Cluster CodeSnapshot ContainerEnvironment DecisionPage Environment
        EnvironmentDetail EnvironmentList Event EventKind EventPage Explanation Fabric FabricList Failure Forecast
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
        Identity Resealed SecretList UnixGroup SnapshotRules SnapshotState Task TaskPage TaskSummary Verdict WhatIf""",
    "the same error on both sides of REST": """
        HaiError Invalid NotFound Forbidden Conflict QuotaExceeded Unavailable Problem""",
    "the same part of an adapter, for each cluster": "Marks",
    "the same callback, for two frameworks": "HaiCallback",
    "how a type is described, by who writes the client and by who reads in it": "Several Table",
    "settings, of the client and of the service; their sections are what users write": "Settings",
    "the door of spot containers, on the Hub's side and on JupyterLab's": "SpotHandler",
    "what a command prints, what a step prints, and what an answer has: left": "Output",
}

#: Words in names of classes that mean one thing each, and where such a class may be: (what it is, path).
WORDS = {
    "Notify Notifier Notification Notifications": ("a sentence for a user, not a notice for a rank", "notif"),
    "Profile": ("how a job leaves; what is recorded is a recording", "core/model/leaving"),
    "Recording": ("what a running task does, written down", "profil|api/wire/runs"),
    "Candidate": ("turns that may end for a waiting task", "core/capacity/"),
    "Offer": ("nothing: turns that may end for a task are a candidate", "^$"),
}
#: Words that say nothing by themselves: reports of use, of jobs, and of ranks about their runs.
QUALIFIED = ("Report", "Reports")
_WORD = re.compile(r"[A-Z][a-z]+|[A-Z]+(?![a-z])")


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


@pytest.mark.parametrize("words", WORDS)
def test_a_word_in_a_name_means_one_thing(words: str) -> None:
    meaning, where = WORDS[words]
    wrong = [
        f"{place}: {name}"
        for name, places in definitions().items()
        for place in places
        if set(_WORD.findall(name)) & set(words.split()) and not re.search(where, place)
    ]
    assert wrong == [], f"{words} is {meaning}"


def test_a_word_of_several_meanings_says_which() -> None:
    allowed = {"Reports": ["scheduler_service/hai_scheduler/service/accounting/reports.py"]}
    found = {name: [place.partition(":")[0] for place in definitions().get(name, [])] for name in QUALIFIED}
    assert {name: places for name, places in found.items() if places != allowed.get(name, [])} == {}
