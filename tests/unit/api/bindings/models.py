"""Small models of the wire, of which the tests of the bindings write classes and interfaces."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from hai_scheduler.api.wire.base import Input, Output


class PartOut(Output):
    """A part. limit None is no limit."""

    limit: int | None
    kind: Literal["left", "right"]


class WholeOut(Output):
    """Something whole.

    With a second paragraph.
    """

    #: When it was made; null: nobody knows.
    at: datetime | None
    parts: list[PartOut]
    names: dict[str, list[str]]
    each: Annotated[int, Field(ge=1)] | Literal["all"] | None = None
    tags: list[str] = Field(default=[])
    data: Any


class MoreOut(WholeOut):
    """More of it."""

    ready: bool = False


class ThingPut(Input):
    """Write a thing."""

    name: str
    grace_s: float = 1.5


class WordyOut(Output):
    """Something with a long comment."""

    #: What is said of this field is so much that it has no room beside the field, and so it stands above, in lines of
    #: the width that all lines have.
    much: int
