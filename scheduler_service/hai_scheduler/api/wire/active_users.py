"""The model of users with live tasks."""

from __future__ import annotations

from hai_scheduler.api.wire.base import Output


class ActiveUsersOut(Output):
    """Users with live tasks."""

    #: Names of users with a task that is neither ended nor held, in alphabetical order; spot containers do not count.
    users: list[str]
