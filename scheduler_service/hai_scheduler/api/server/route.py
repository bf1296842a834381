"""What an endpoint is: a route of the table, a function, and what passes between tornado and it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Final, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.services import Services
from hai_scheduler.api.wire.base import Input
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.service.shared.caller import Caller

Query = TypeVar("Query", bound=Input, covariant=True)
Body = TypeVar("Body", covariant=True)

#: Who may ask, where it is not a scope.
OPEN: Final = "open"
RUN: Final = "run token"


class YamlText(str):
    """A body of YAML, as it came."""

    __slots__ = ()


class RawBytes(bytes):
    """A body of bytes, as it came."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(Generic[Query, Body]):
    """One request, parsed and authorised."""

    services: Services
    #: Who asks: nobody in particular where the endpoint is open.
    who: Caller | RunId | None
    path: Mapping[str, str]
    query: Query
    body: Body
    headers: Mapping[str, str]

    @property
    def caller(self) -> Caller:
        """The user or service that asks."""
        assert isinstance(self.who, Caller)
        return self.who

    @property
    def run(self) -> RunId:
        """The run that asks."""
        assert isinstance(self.who, str)
        return self.who


@dataclass(frozen=True, slots=True)
class Message:
    """One server-sent event; `data` is JSON."""

    event: str
    data: str
    id: str | None = None

    def encode(self) -> str:
        """As it goes over the wire. JSON has no line breaks of its own, so one data line is enough."""
        name = f"id: {self.id}\n" if self.id is not None else ""
        return f"{name}event: {self.event}\ndata: {self.data}\n\n"


#: Messages that go out together, or the bytes that they are on the wire.
Batch = Sequence[Message] | bytes


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer of server-sent events, in batches; an empty batch says that there is nothing new yet."""

    batches: AsyncGenerator[Batch, None]


@dataclass(frozen=True, slots=True)
class Text:
    """An answer that is no JSON, or JSON that is no model."""

    body: bytes
    content_type: str


Answer = BaseModel | Stream | Text | None


@dataclass(frozen=True, kw_only=True)
class Route:
    """One row of the table. Parameters, body and answer are read from the function's annotations."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    #: With `{name}` for the parts that vary.
    path: str
    #: A scope, `OPEN` or `RUN`.
    access: str
    call: Callable[[Ask[Any, Any]], Awaitable[Answer]]
    #: What it does, in a few words.
    summary: str
    status: int = 200
    #: Errors that it can answer, beside those of every route.
    codes: tuple[str, ...] = ()
    #: Header of the address of what was made, with `{field}` of the answer.
    location: str | None = None
    #: Which budget it takes from; None is what its method and access say.
    kind: Kind | None = None
    #: The request waits for something, so that it is to end when the client goes away.
    waits: bool = False
    #: Request headers that it reads, with their meaning.
    headers: Mapping[str, str] = field(default_factory=dict)
    #: What its streams send: the kinds of messages with the models of their data; None is an object of no model.
    messages: Mapping[str, type[BaseModel] | None] = field(default_factory=dict)

    @cached_property
    def budget(self) -> Kind:
        """Which budget a request takes from."""
        if self.kind is not None:
            return self.kind
        if self.access in (OPEN, RUN):
            return Kind.PUBLIC if self.access == OPEN else Kind.RUN
        return Kind.READ if self.method == "GET" else Kind.WRITE

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.call)

    @cached_property
    def query(self) -> type[Input]:
        """The model of its query parameters."""
        model: type[Input] = get_args(self._hints["ask"])[0]
        return model

    @cached_property
    def body(self) -> type[Input | YamlText | RawBytes] | None:
        """The model of its body, or None if it takes none."""
        found = next(kind for kind in _kinds(get_args(self._hints["ask"])[1]) if kind is not NoneType)
        return None if found is Nothing else found

    @cached_property
    def body_optional(self) -> bool:
        """Whether the body may be left out."""
        return NoneType in _kinds(get_args(self._hints["ask"])[1])

    @cached_property
    def answer(self) -> type[BaseModel] | None:
        """The model of its answer, or None if it answers no JSON model."""
        return next(
            (kind for kind in _kinds(self._hints["return"]) if isinstance(kind, type) and issubclass(kind, BaseModel)),
            None,
        )

    @cached_property
    def streams(self) -> bool:
        """Whether it can answer with server-sent events."""
        return Stream in _kinds(self._hints["return"])

    @cached_property
    def text(self) -> bool:
        """Whether it answers a text."""
        return Text in _kinds(self._hints["return"])


def _kinds(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) is UnionType else (annotation,)
