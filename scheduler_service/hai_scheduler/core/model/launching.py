"""How a command is started on the nodes of its task. No decision depends on this."""

from __future__ import annotations

from typing import Literal

#: How many processes of the command run on each node: a number; "gpu" is one for each GPU of the node; None is one,
#: without a launcher, so that each node is one rank.
RanksPerNode = int | Literal["gpu"] | None
