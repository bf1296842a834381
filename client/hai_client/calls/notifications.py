"""The REST calls for notifications: what the caller is told, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hai_client import wire
from hai_client.calls.base import Calls


class NotificationCalls(Calls):
    """The calls of `Client` for notifications."""

    def notification_rules(self) -> wire.notifications.NotificationRules:
        """Return what the caller is told and where, and the channels that there are."""
        return self._get(wire.notifications.NotificationRules, "GET", "/me/notifications")

    def set_notification_rules(
        self,
        *,
        rules: Mapping[str, Sequence[str]],
        waits_longer_s: float,
        mail: str | None,
        webhook: str | None,
        new_secret: bool = False,
    ) -> wire.notifications.NotificationRules:
        """Write what the caller is told, and where.

        Args:
            rules: The channels of each kind; kinds that are left out stay as they are.
            waits_longer_s: How long a task waits before `waiting` is told, seconds.
            mail: The address that mail goes to; None: none.
            webhook: The address of the webhook; None: none.
            new_secret: Whether the webhook gets a new key.

        Returns:
            The rules; `webhook_secret` is set if a key has been made.

        Raises:
            Invalid: A kind, a channel or an address is wrong.
        """
        body = {
            "rules": [{"kind": kind, "channels": list(channels)} for kind, channels in rules.items()],
            "waits_longer_s": waits_longer_s,
            "mail": mail,
            "webhook": webhook,
            "new_secret": new_secret,
        }
        return self._get(wire.notifications.NotificationRules, "PUT", "/me/notifications", body=body)

    def test_notifications(self, channels: Sequence[str] | None = None) -> wire.notifications.Notification:
        """Have a test sent over these channels; None: over all that the caller can use."""
        body = {"channels": None if channels is None else list(channels)}
        return self._get(wire.notifications.Notification, "POST", "/me/notifications/test", body=body)

    def notifications(
        self, *, before: int | None = None, limit: int = 50, unread: bool = False
    ) -> wire.notifications.NotificationPage:
        """Return what the caller was told, the newest first.

        Args:
            before: Only those with a smaller id; None: the newest.
            limit: How many at most, 1 to 200.
            unread: Only those that are not read.
        """
        query = {"before": before, "limit": limit, "unread": "true" if unread else None}
        return self._get(wire.notifications.NotificationPage, "GET", "/notifications", query=query)

    def mark_notifications_read(self, up_to: int) -> None:
        """Mark the caller's notifications up to that id as read."""
        self._http.call("POST", "/notifications/read", body={"up_to": up_to})
