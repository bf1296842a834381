"""The REST calls for the caller, quota and policy: who may have what, by which numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import closing
from datetime import datetime
from typing import Any, Callable

from hai_client import sse, wire
from hai_client.calls.base import Calls, if_match
from hai_client.codec import decode, encode
from hai_client.errors import Unavailable
from hai_client.wire import schema


class QuotaCalls(Calls):
    """The calls of `Client` for the caller, quota, and the numbers of the scheduling policy."""

    def me(self) -> schema.Me:
        """Return the caller: name, rights and quota."""
        return self._get(schema.Me, "GET", "/me")

    def quotas(self) -> tuple[schema.Quota, ...]:
        """Return the rows of quota that apply to the caller; for admins, all rows."""
        return self._get(schema.QuotaList, "GET", "/quotas").items

    def set_quota(
        self,
        subject: str,
        priority: str,
        limit: int | None,
        *,
        group: str = "training",
        ceiling: int | None = None,
        expires_at: datetime | None = None,
        version: str | None = None,
    ) -> schema.Quota:
        """Write a complete row of quota; it replaces an earlier row for the same thing. For admins.

        Args:
            subject: `user:NAME`, `group:NAME` (each member), `public`, or `total:NAME` (all members together).
            priority: The priority level.
            limit: Nodes that may be held at once; None: no limit.
            group: The node group.
            ceiling: How far the users of this row may raise their own row, nodes (Q3); None: not at all.
            expires_at: When the row ends; None: never.
            version: The version of the row that was read: if it has changed since, nothing is written.

        Raises:
            Conflict: The row has another version.
        """
        body = {
            "subject": subject,
            "group": group,
            "priority": priority,
            "limit": limit,
            "ceiling": ceiling,
            "expires_at": expires_at,
        }
        return self._get(schema.Quota, "PUT", "/quotas", body=encode(body), headers=if_match(version))

    def set_own_quota(self, priority: str, limit: int, *, group: str = "training") -> schema.OwnQuota:
        """Raise or lower the caller's own quota, up to the ceiling that an admin has set.

        Raises:
            Forbidden: There is no ceiling for the caller, or the ceiling is lower than `limit`.
        """
        body = {"group": group, "priority": priority, "limit": limit}
        return self._get(schema.OwnQuota, "PUT", "/me/quota", body=body)

    def delete_quota(self, subject: str, priority: str, *, group: str = "training", version: str | None = None) -> None:
        """Remove a row of quota, as `set_quota` writes one. For admins."""
        body = {"subject": subject, "group": group, "priority": priority}
        self._http.call("DELETE", "/quotas", body=body, headers=if_match(version))

    def policy(self) -> wire.policy.Policy:
        """Return the scheduling policy: the numbers that rules use."""
        return self._get(wire.policy.Policy, "GET", "/policy")

    def set_policy(
        self,
        values: Mapping[str, Any],
        *,
        unset: Iterable[str] = (),
        group: str | None = None,
        version: str | None = None,
    ) -> wire.policy.Policy:
        """Change numbers of the scheduling policy; either the whole change is made, or nothing. For admins.

        Args:
            values: New values by name; lengths of time are texts such as `15m`, or seconds.
            unset: Names of numbers to set back to the configuration's value, or to the default.
            group: The node group; None: all node groups.
            version: The version of the policy that was read: if it has changed since, nothing is changed.

        Raises:
            Conflict: The policy has another version.
        """
        body = {"group": group, "set": dict(values), "unset": list(unset)}
        return self._get(wire.policy.Policy, "PUT", "/policy", body=body, headers=if_match(version))

    def try_policy(
        self,
        values: Mapping[str, Any],
        *,
        unset: Iterable[str] = (),
        group: str | None = None,
        days: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> wire.policy.Trial:
        """Simulate the tasks of the last days with other policy numbers; nothing is changed. For admins.

        Args:
            values: As for `set_policy`.
            unset: The same.
            group: The same.
            days: How many days back (default: 3).
            progress: Called with how far it has come, 0 to 1.

        Raises:
            HaiError: The platform refuses, or the stream broke off; nothing is tried again.
        """
        body: dict[str, Any] = {"group": group, "set": dict(values), "unset": list(unset)}
        if days is not None:
            body["days"] = days
        with closing(self._http.stream("/policy/try", body=body)) as response:
            for message in sse.messages(response):
                if message.event == "problem":
                    raise sse.trouble(message.data)
                if message.event == "progress" and progress is not None:
                    progress(decode(wire.policy.TrialProgress, json.loads(message.data)).done)
                if message.event == "result":
                    return decode(wire.policy.Trial, json.loads(message.data))
        raise Unavailable("the trial broke off before it was done; try it again")
