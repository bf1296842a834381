"""The cluster that `bench studio` looks at: its size, its users, and what its tasks do."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Final

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.cluster import LaunchOrder
from integration.api.fakes import ADMIN, READ, WRITE, a_user_model
from kit.builders import a_task
from kit.memory.behaviour import Behaviour

NODES: Final = 1_500
TASKS: Final = 10_000
USERS: Final = 200
#: Users who are administrators.
ADMINS: Final = 10
#: Nodes of a task, each size as likely as it is often here: 2.5 on average.
SIZES: Final = (1, 1, 1, 1, 2, 2, 4, 8)
#: Half of the tasks wait at the one and half at the other.
LEVELS: Final = (Priority.NORMAL, Priority.LOW)
#: A level above both, at which each user may hold as many nodes as one of these tasks has: a second one waits for the
#: first, at the head of the queue.
HEAD: Final = Priority.HIGH
HEAD_NODES: Final = 8
#: The mean length of a task. With some 600 tasks that run, one ends in each second, and another one starts.
WORK: Final = timedelta(minutes=10)
#: Time until all ranks of a task are up.
STARTING: Final = timedelta(seconds=3)


def user(number: int) -> str:
    """The name of a user; the first `ADMINS` are administrators."""
    return f"user-{number % USERS}"


def token(name: str) -> str:
    """The token with which the user comes to the service."""
    return f"{name}-token"


def users() -> dict[str, dict[str, object]]:
    """What the Hub says of the users, by token."""
    found = {}
    for number in range(USERS):
        scopes = (READ, WRITE, ADMIN) if number < ADMINS else (READ, WRITE)
        found[token(user(number))] = a_user_model(user(number), *scopes, groups=("lab",))
    return found


def tasks() -> list[Task]:
    """The tasks at the begin, which all wait."""
    now, choose = datetime.now(UTC), random.Random(7)
    found = []
    for number in range(TASKS):
        since = now - timedelta(seconds=TASKS - number)
        found.append(
            a_task(
                name=f"train-{number}",
                user=user(number),
                priority=choose.choice(LEVELS),
                nodes=choose.choice(SIZES),
                submitted_at=since,
                waiting_since=since,
            )
        )
    return found


def behaviour(launch: LaunchOrder) -> Behaviour:
    """What a task does: it runs for a while, saves now and then, and ends well."""
    choose = random.Random(launch.run_id)
    work = timedelta(seconds=choose.expovariate(1 / WORK.total_seconds()))
    return Behaviour(work=work, start_takes=STARTING, saves_every=timedelta(minutes=2))
