"""The routes for notifications: rules of users, tests of channels, and what users were told."""

from __future__ import annotations

from typing import Final

from hai_scheduler.api.handlers import notifications
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.route import Route
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_READ, SCOPE_WRITE

NOTIFICATION_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="GET",
        path="/me/notifications",
        access=SCOPE_READ,
        call=notifications.show,
        summary="What the caller is told and where, and the channels that there are",
    ),
    Route(
        method="PUT",
        path="/me/notifications",
        access=SCOPE_WRITE,
        call=notifications.put,
        summary="Write what the caller is told and where; the key of a new webhook is in this answer alone",
    ),
    Route(
        method="POST",
        path="/me/notifications/test",
        access=SCOPE_WRITE,
        call=notifications.test,
        kind=Kind.EXPENSIVE,
        summary="Have a test sent over the caller's channels; `GET /notifications` shows what came of it",
        status=202,
        codes=("too_many",),
    ),
    Route(
        method="GET",
        path="/notifications",
        access=SCOPE_READ,
        call=notifications.page,
        summary="What the caller was told in the last seven days, the newest first",
    ),
    Route(
        method="POST",
        path="/notifications/read",
        access=SCOPE_WRITE,
        call=notifications.mark_read,
        summary="Mark the caller's notifications up to an id as read",
    ),
    Route(
        method="GET",
        path="/notifications/sinks",
        access=SCOPE_ADMIN,
        call=notifications.sinks,
        summary="What this platform sends over: whether there is mail, and the names of the sinks",
    ),
)
