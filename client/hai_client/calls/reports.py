"""The REST calls for reports, rates and budgets."""

from __future__ import annotations

from datetime import datetime

from hai_client import wire
from hai_client.calls.base import Calls, quoted


class ReportCalls(Calls):
    """The calls of `Client` for what was used and what it costs."""

    def report(
        self,
        *,
        by: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        user: str | None = None,
        group: str | None = None,
    ) -> wire.reports.UsageReport:
        """Return what tasks took in some time: the caller's own, sums of a group of theirs, or for admins all.

        Args:
            by: What the rows are by: user, group, priority, node_group, kind, day or month (default: user).
            since: The begin; it is moved back to a full hour (default: the begin of this month in UTC).
            until: The end; it is moved on to a full hour (default: now).
            user: Only tasks of this user.
            group: Only tasks of users who were in this user group.

        Raises:
            Forbidden: It is for admins.
        """
        query = {"by": by, "since": _text(since), "until": _text(until), "user": user, "group": group}
        return self._get(wire.reports.UsageReport, "GET", "/reports", query=query)

    def nodes_report(
        self, *, by: str | None = None, since: datetime | None = None, until: datetime | None = None
    ) -> wire.reports.NodesReport:
        """Return how the nodes were used in some time, by all users together.

        Args:
            by: What the rows are by: node_group, day or month (default: node_group).
            since: As for `report`.
            until: As for `report`.
        """
        query = {"by": by, "since": _text(since), "until": _text(until)}
        return self._get(wire.reports.NodesReport, "GET", "/reports/nodes", query=query)

    def rates(self) -> tuple[wire.reports.Rate, ...]:
        """Return what node hours and GPU hours cost: all rates."""
        return self._get(wire.reports.RateList, "GET", "/rates").items

    def set_rate(
        self,
        valid_from: str,
        currency: str,
        *,
        per_node_hour: str = "0",
        per_gpu_hour: str = "0",
        node_group: str | None = None,
        priority: str | None = None,
    ) -> wire.reports.Rate:
        """Write a rate; it replaces one for the same node group, priority and day. For admins.

        Args:
            valid_from: The first day in UTC, such as 2026-11-01.
            currency: One word, such as EUR.
            per_node_hour: What an hour of a node costs, a decimal number.
            per_gpu_hour: What an hour of a GPU costs; both are added.
            node_group: The node group; None: all without rates of their own.
            priority: The priority; None: all without rates of their own.
        """
        body = {
            "node_group": node_group,
            "priority": priority,
            "valid_from": valid_from,
            "per_node_hour": per_node_hour,
            "per_gpu_hour": per_gpu_hour,
            "currency": currency,
        }
        return self._get(wire.reports.Rate, "PUT", "/rates", body=body)

    def delete_rate(self, valid_from: str, *, node_group: str | None = None, priority: str | None = None) -> None:
        """Remove a rate. For admins."""
        body = {"node_group": node_group, "priority": priority, "valid_from": valid_from}
        self._http.call("DELETE", "/rates", body=body)

    def budgets(self) -> tuple[wire.reports.GroupBudget, ...]:
        """Return the budgets of the caller's groups, and what is used of them; for admins all."""
        return self._get(wire.reports.BudgetList, "GET", "/budgets").items

    def set_budget(
        self, group: str, measure: str, limit: str, *, window_days: int, currency: str | None = None
    ) -> wire.reports.GroupBudget:
        """Write the budget of a user group. For admins.

        Args:
            group: The user group.
            measure: node_hours, gpu_hours or amount.
            limit: How much its members may use together in the window, a decimal number.
            window_days: The length of the window, which ends now.
            currency: For amounts: the currency of the rates that count.
        """
        body = {"measure": measure, "limit": limit, "window_days": window_days, "currency": currency}
        return self._get(wire.reports.GroupBudget, "PUT", f"/budgets/{quoted(group, 'group')}", body=body)

    def delete_budget(self, group: str) -> None:
        """Remove the budget of a user group. For admins."""
        self._http.call("DELETE", f"/budgets/{quoted(group, 'group')}")


def _text(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()
