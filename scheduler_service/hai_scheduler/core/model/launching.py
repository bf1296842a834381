"""How a command is started on the nodes of its task. No decision reads it."""

from __future__ import annotations

from typing import Literal

#: How often a command runs on each node: a number, once for each GPU of the node, or once and without a launcher, so
#: that its ranks are nodes.
RanksPerNode = int | Literal["gpu"] | None
