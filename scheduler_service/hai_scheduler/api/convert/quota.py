"""Converts rows of quota, and what users may hold, into models of the wire."""

from __future__ import annotations

from datetime import datetime

from hai_scheduler.api.wire.quota import OwnQuota, QuotaOut
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.service.insight.quota_views import QuotaView
from hai_scheduler.service.shared.quota_rows import expired
from hai_scheduler.service.shared.versions import version_of


def quota_out(quota: Quota, now: datetime, *, warning: str | None = None) -> QuotaOut:
    """Return the model of a row of quota."""
    return QuotaOut.of(quota, expired=expired(quota, now), version=version_of(quota), warning=warning)


def own_quota_out(view: QuotaView) -> OwnQuota:
    """Return the model of what a user may hold and holds at a level."""
    return OwnQuota.of(view, used=round(view.used, 6))
