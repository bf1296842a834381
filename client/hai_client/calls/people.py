"""The REST calls for users, the audit, and the platform's health; all are for admins."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from hai_client import wire
from hai_client.calls.base import Calls, quoted
from hai_client.codec import encode


class PeopleCalls(Calls):
    """The calls of `Client` for users, the audit, and the platform's health."""

    def users(
        self,
        *,
        name: str | None = None,
        group: str | None = None,
        archived: bool | None = None,
        order: str = "name",
    ) -> Iterator[wire.people.User]:
        """Return all users that match, read page by page.

        Args:
            name: A part of the name, letter case ignored.
            group: A user group.
            archived: Only archived users, or only the others; None: all.
            order: `name`, or with the greatest first `seen`, `running`, `waiting`.
        """
        cursor: str | None = None
        chosen = None if archived is None else str(archived).lower()
        while True:
            query = {"name": name, "group": group, "archived": chosen, "order": order, "limit": 200, "cursor": cursor}
            page = self._get(wire.people.UserList, "GET", "/users", query=query)
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return

    def user(self, name: str) -> wire.people.UserDetail:
        """Return one user, with the rows of quota that can count for them and the latest changes about them."""
        return self._get(wire.people.UserDetail, "GET", f"/users/{quoted(name, 'user')}")

    def archive_user(self, name: str, *, note: str = "") -> wire.people.Archive:
        """Archive a user: their tasks are told to leave and are stopped, and they may not use the platform.

        Args:
            name: The user.
            note: Why, for other admins.
        """
        return self._get(
            wire.people.Archive, "POST", f"/users/{quoted(name, 'user')}/archive", body={"note": note}, again=True
        )

    def restore_user(self, name: str) -> None:
        """Let an archived user use the platform again."""
        self._http.call("POST", f"/users/{quoted(name, 'user')}/restore")

    def audit(
        self,
        *,
        who: str | None = None,
        action: str | None = None,
        subject: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
    ) -> Iterator[wire.people.AuditEntry]:
        """Return the newest entries of the audit that match.

        Args:
            who: The user who did it.
            action: An action such as `quota.put`, or a family such as `quota`.
            subject: What was changed, such as `user:ann`, or a kind such as `node`.
            since: From this time on.
            until: Before this time.
            limit: The most entries.
        """
        cursor: int | None = None
        while limit > 0:
            query = {
                "who": who,
                "action": action,
                "subject": subject,
                "since": encode(since),
                "until": encode(until),
                "limit": min(limit, 200),
                "cursor": cursor,
            }
            page = self._get(wire.people.AuditPage, "GET", "/audit", query=query)
            yield from page.items
            limit -= len(page.items)
            cursor = page.next_cursor
            if cursor is None:
                return

    def platform_health(self) -> wire.people.PlatformHealth:
        """Return the health of scheduler, database and cluster, the versions of all parts, and the alarms in force."""
        return self._get(wire.people.PlatformHealth, "GET", "/health/details")
