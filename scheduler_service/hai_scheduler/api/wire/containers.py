"""What a spawner tells of development containers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hai_scheduler.api.wire.base import Input, Moment

_Name = Annotated[str, Field(min_length=1, max_length=255)]


class ContainerTold(Input):
    """A development container that lives."""

    #: A word of the spawner's that no other container ever has.
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{8,64}$")]
    user: _Name
    #: The user's groups at the Hub when it began.
    groups: Annotated[list[_Name], Field(max_length=1000)] = []
    node_group: Annotated[str, Field(min_length=1, max_length=128)] = "jupyter"
    gpus: Annotated[int, Field(ge=0, le=1024)] = 0
    #: The processor cores that it has for itself.
    cpus: Annotated[float, Field(ge=0, le=4096, allow_inf_nan=False)] = 0.0
    started_at: Moment


class ContainerEndTold(ContainerTold):
    """A development container that has ended."""

    ended_at: Moment


class ContainersTold(Input):
    """All development containers that live now, and those that have ended lately."""

    living: Annotated[list[ContainerTold], Field(max_length=4000)]
    #: One that was told before may be told again: it is counted once.
    ended: Annotated[list[ContainerEndTold], Field(max_length=4000)] = []
