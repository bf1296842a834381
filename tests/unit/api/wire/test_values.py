"""Bodies that are values of the service: a submission is read as it stands in JSON, and written so again."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from hai_scheduler.api.wire.values import adapter_of, defaults_of, fields_of
from hai_scheduler.core.model.leaving import Profile, Signal
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Retry
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.tasks.submission import BuildSubmission, Submission
from hai_scheduler.service.workspace.snapshot_ref import SnapshotRef
from kit import asked

WHOLE = {
    "name": "train",
    "command": ["python", "train.py"],
    "cwd": "/home/ann",
    "nodes": 2,
    "gpus": 4,
    "priority": "AUTO",
    "group": "large",
    "env": {"SEED": "1"},
    "secrets": ["HF_TOKEN", "~/.netrc=netrc"],
    "profile": "sigterm",
    "signal": "USR1@60",
    "grace_s": 90.0,
    "time_limit_s": 3600.0,
    "checkpoint_dir": "/shared/ann",
    "watch": ["out"],
    "tags": ["night"],
    "hold": True,
    "retry_backoff_s": 30.0,
    "retry_exit_codes": [3, 137],
    "environment": "torch",
    "env_latest": True,
    "ranks_per_node": "gpu",
    "snapshot": {"digest": "d" * 64, "commit": "c" * 40, "dirty": True},
    "take_snapshot": True,
    **asked.in_json(),
}


PLAIN: dict[str, Any] = {"name": "a", "command": ["a"], "cwd": "/"}


def read(body: dict[str, Any]) -> Submission:
    found = adapter_of(Submission).validate_json(json.dumps(body), strict=True)
    assert isinstance(found, Submission)
    return found


def written(submission: Submission) -> dict[str, Any]:
    found = json.loads(adapter_of(Submission).dump_json(submission, by_alias=True))
    assert isinstance(found, dict)
    return found


def test_every_field_of_a_submission_survives_the_way_in_and_out() -> None:
    body, plain = read(WHOLE), read(PLAIN)
    alike = [name for name in fields_of(Submission) if getattr(body, name) == getattr(plain, name)]
    assert alike == [], "give these a value"
    assert written(body) == WHOLE
    assert written(plain) == {**PLAIN, **defaults_of(Submission)}


def test_a_submission_has_the_values_of_the_core() -> None:
    found = read(WHOLE)
    assert (found.priority, found.profile, found.signal) == (None, Profile.SIGTERM, Signal.parse("USR1@60"))
    assert (found.grace, found.time_limit) == (timedelta(seconds=90), timedelta(hours=1))
    assert found.retry == Retry(count=found.retries, backoff=timedelta(seconds=30), exit_codes=frozenset({3, 137}))
    assert found.snapshot == SnapshotRef(digest="d" * 64, commit="c" * 40, dirty=True)
    plain = read(PLAIN)
    assert (plain.priority, plain.profile, plain.signal, plain.retry) == (Priority.NORMAL, Profile.AUTO, None, None)


def test_a_submission_keeps_no_list_that_its_caller_could_change() -> None:
    found = read(WHOLE)
    assert (found.command, found.watch, found.tags) == (("python", "train.py"), ("out",), ("night",))


@pytest.mark.parametrize(
    "change",
    [
        {"grace": 90},
        {"build": "create users/ann/x"},
        {"retry": None},
        {"nodes": "1"},
        {"priority": 10},
        {"tags": "x"},
        {"watch": [""]},
        {"watch": ["x" * 4097]},
        {"watch": ["a"] * 21},
        {"ranks_per_node": 0},
        {"ranks_per_node": -1},
        {"ranks_per_node": 1025},
    ],
    ids=lambda change: f"{change!r:.30}",
)
def test_what_is_no_field_or_no_value_of_the_wire_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read({**PLAIN, **change})


def test_a_signal_that_is_none_is_refused_with_its_remedy() -> None:
    with pytest.raises(Invalid, match="signal: 'USR9' is none: write INT"):
        read({**PLAIN, "signal": "USR9"})


@pytest.mark.parametrize(
    ("change", "field"),
    [({"group": "a\0"}, "group"), ({"env": {"A": "\0"}}, "env"), ({"watch": ["\0"]}, "watch")],
    ids=str,
)
def test_a_nul_character_is_refused_in_any_text(change: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        read({**PLAIN, **change})
    assert refused.value.errors()[0]["ctx"] == {"field": field}


def test_the_service_alone_marks_a_build() -> None:
    made = BuildSubmission(name="a", command=("a",), cwd="/", build="mark")
    assert "build" not in fields_of(Submission)
    assert made.build == "mark"
