"""The routes for notifications: rules of users, tests of channels, and what users were told."""

from __future__ import annotations

from typing import Final

from hai_scheduler.api.handlers import notifications
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.route import Route
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_READ, SCOPE_WRITE

NOTIFICATION_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET",
        "/me/notifications",
        SCOPE_READ,
        notifications.show,
        "What the caller is told and where, and the channels that there are",
    ),
    Route(
        "PUT",
        "/me/notifications",
        SCOPE_WRITE,
        notifications.put,
        "Write what the caller is told and where; the key of a new webhook is in this answer alone",
    ),
    Route(
        "POST",
        "/me/notifications/test",
        SCOPE_WRITE,
        notifications.test,
        "Have a test sent over the caller's channels; `GET /notifications` shows what came of it",
        kind=Kind.EXPENSIVE,
        status=202,
        codes=("too_many",),
    ),
    Route(
        "GET",
        "/notifications",
        SCOPE_READ,
        notifications.page,
        "What the caller was told in the last seven days, the newest first",
    ),
    Route(
        "POST",
        "/notifications/read",
        SCOPE_WRITE,
        notifications.mark_read,
        "Mark the caller's notifications up to an id as read",
    ),
    Route(
        "GET",
        "/notifications/sinks",
        SCOPE_ADMIN,
        notifications.sinks,
        "What this platform sends over: whether there is mail, and the names of the sinks",
    ),
)
