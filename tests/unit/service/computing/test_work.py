"""The orders to worker processes: whatever tasks, runs and nodes hold can be sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from enum import Enum
from typing import Any, get_args, get_type_hints

import pytest

from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.usage_summary import UsageLevel, UsageSummary
from hai_scheduler.service.computing.work import PLAIN
from kit.builders import a_pin, a_run, a_task


def classes_in(hint: Any) -> Iterator[type]:
    """The dataclasses and enumerations that a type is made of."""
    if isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Enum)):
        yield hint
    for part in get_args(hint):
        yield from classes_in(part)


@pytest.mark.parametrize("kind", [kind for kind in PLAIN.kinds if is_dataclass(kind)], ids=lambda kind: kind.__name__)
def test_what_a_value_that_is_sent_holds_can_be_sent_too(kind: type) -> None:
    held = {part for hint in get_type_hints(kind).values() for part in classes_in(hint)}
    assert {part.__name__ for part in held - set(PLAIN.kinds)} == set(), "list them in PLAIN"


def test_a_task_whose_run_was_measured_and_pinned_arrives_as_it_was() -> None:
    summary = UsageSummary(seconds=60, cpu=UsageLevel(1, 2), gpus=8, gpu_use=UsageLevel(90, 100))
    task = a_task(state="suspended")
    sent = replace(task, run=replace(a_run(ended_at=task.submitted_at), summary=summary, haienv=a_pin()))
    arrived = PLAIN.read(PLAIN.write(sent))
    assert isinstance(arrived, Task)
    assert arrived == sent
