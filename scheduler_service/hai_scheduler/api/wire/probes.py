"""Models of the answers to probes of Kubernetes and load balancers."""

from __future__ import annotations

from typing import Literal

from hai_scheduler.api.wire.base import Output


class LiveOut(Output):
    """The answer of a process that is alive."""

    status: Literal["live"] = "live"


class ReadyOut(Output):
    """The answer of a replica that can serve. `leader` says which replica schedules, as seen from this one."""

    status: Literal["ready"] = "ready"
    leader: Literal["this", "another", "nobody"]
