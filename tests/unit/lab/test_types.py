"""The types of the panels have the fields of the service's OpenAPI document."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hai_scheduler.api.document.openapi import document
from hai_scheduler.api.routes import ROUTES

TYPES = (Path(__file__).parents[3] / "lab_extension/src/api/types.ts").read_text(encoding="utf-8")
_INTERFACE = re.compile(r"^export interface (\w+)(?: extends (\w+))? \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)

#: Answers that the panels read whole; of others they read what they show.
WHOLE = {
    "IExplanation": "ExplainOut",
    "IWhatIf": "WhatIfOut",
    "IVerdict": "VerdictOut",
    "IHolder": "HolderOut",
    "IDecision": "DecisionOut",
    "IDecisionPage": "DecisionPage",
    "ITaskSummary": "TaskSummary",
    "ITaskDetail": "TaskDetail",
    "IRun": "RunOut",
    "INotice": "NoticeOut",
    "IEvent": "EventOut",
}


def interfaces() -> dict[str, set[str]]:
    """The names of the fields of every interface, inherited ones included."""
    found: dict[str, set[str]] = {}
    for name, base, body in _INTERFACE.findall(TYPES):
        found[name] = set(re.findall(r"^  (\w+)\??:", body, re.MULTILINE)) | found.get(base, set())
    return found


def answers() -> dict[str, set[str]]:
    """The names of the fields of every model of the interface."""
    described = json.loads(json.dumps(document(ROUTES)))
    return {name: set(model.get("properties", {})) for name, model in described["components"]["schemas"].items()}


@pytest.mark.parametrize(("here", "there"), WHOLE.items(), ids=WHOLE)
def test_a_panel_reads_what_the_service_answers(here: str, there: str) -> None:
    assert interfaces()[here] == answers()[there]
