"""Settings of what metrics may name: traitlets, turned into frozen values."""

from __future__ import annotations

import re
from typing import Final

from traitlets import Bool, List, Unicode
from traitlets.config import Configurable

from hai_scheduler.service.shared.settings import LabelSettings

#: The most node groups that metrics may name: each costs some hundred series.
_MOST: Final = 20
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


class MetricsLabelsError(ValueError):
    """A setting is wrong; the message names it, its value and the remedy."""


class MetricsLabels(Configurable):
    """What the metrics for Prometheus name. Tasks and runs are never named."""

    groups = List(
        Unicode(),
        help="Node groups that metrics name, at most 20; all others are `other`. Empty: the first six that there are.",
    ).tag(config=True)
    by_user = Bool(
        False,
        help="Whether `hai_user_task_nodes` names the 100 users with most nodes. All who may read metrics see it then.",
    ).tag(config=True)

    def frozen(self) -> LabelSettings:
        """The checked settings. Raises MetricsLabelsError."""
        if len(self.groups) > _MOST:
            raise MetricsLabelsError(f"MetricsLabels.groups has {len(self.groups)} node groups: give {_MOST} at most")
        for name in self.groups:
            if not _NAME.fullmatch(name):
                raise MetricsLabelsError(
                    f"MetricsLabels.groups: {name!r:.80} is no name of a node group: `hai nodes` shows their names"
                )
        return LabelSettings(groups=frozenset(self.groups), by_user=self.by_user)
