"""What probes are told."""

from __future__ import annotations

from typing import Literal

from hai_scheduler.api.wire.base import Output


class LiveOut(Output):
    """The process answers."""

    status: Literal["live"] = "live"


class ReadyOut(Output):
    """This replica can serve. `leader` says which replica schedules, as seen from this one."""

    status: Literal["ready"] = "ready"
    leader: Literal["this", "another", "nobody"]
