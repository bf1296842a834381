"""What kind of work a task is, for the ledger."""

from __future__ import annotations

from enum import StrEnum

from hai_scheduler.core.model.limits import SPOT
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.core.workspace import builds


class WorkKind(StrEnum):
    """What kind of work a run did."""

    #: What a user has submitted.
    TASK = "task"
    #: A spot container.
    SPOT = "spot"
    #: A build of an environment by the platform.
    BUILD = "build"
    #: A development container of the Hub, which is no task.
    DEVELOPMENT = "development"


def kind_of(task: Task, spec: TaskSpec) -> WorkKind:
    """Return the kind of a task's runs. Tags alone do not decide: users choose them."""
    if builds.VARIABLE in spec.env:
        return WorkKind.BUILD
    if task.name.startswith(SPOT) and SPOT in spec.tags:
        return WorkKind.SPOT
    return WorkKind.TASK
