"""What an endpoint is: a row of the route table, a function, and the values that pass between tornado and it."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Final, Generic, Literal, Protocol, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import unquote

from pydantic import BaseModel

from hai_scheduler.api.server.encoded import Encoded
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.platform import Platform
from hai_scheduler.api.server.problems import Refused
from hai_scheduler.api.wire.base import Input
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.values import is_body
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.tasks.submission import Submission

Query = TypeVar("Query", bound=Input, covariant=True)
Body = TypeVar("Body", covariant=True)


async def _unknown() -> frozenset[str] | None:
    return None


async def _meet_nobody(_names: Collection[str] | None) -> None:
    """Do nothing: there is no Hub."""


#: Values of `Route.access` that are not scopes.
OPEN: Final = "open"
RUN: Final = "run token"


class YamlText(str):
    """A body of YAML, not parsed."""

    __slots__ = ()


class RawBytes(bytes):
    """A body of bytes, unchanged."""

    __slots__ = ()


class Arriving(Protocol):
    """A body that is used up while it arrives, and never kept as a whole."""

    async def take(self, piece: bytes) -> None:
        """Take the next bytes. Raises the errors of use cases; nothing more of the body is taken then."""
        ...

    async def finish(self) -> None:
        """End a body that has arrived as a whole."""
        ...

    async def abort(self) -> None:
        """Give up a body that will not arrive as a whole; does nothing after the end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(Generic[Query, Body]):
    """One request, parsed and authorised."""

    platform: Platform
    #: The user, the service or the run that asks; None where the endpoint is open.
    who: Caller | RunId | None
    path: Mapping[str, str]
    query: Query
    body: Body
    headers: Mapping[str, str]
    #: Asks the Hub for the names of all user groups; None: it does not say them.
    hub_groups: Callable[[], Awaitable[frozenset[str] | None]] = _unknown
    #: Makes users known whom HAI has not seen and the Hub has, by their names; None: all.
    meet: Callable[[Collection[str] | None], Awaitable[None]] = _meet_nobody

    @property
    def caller(self) -> Caller:
        """The user or service that asks."""
        assert isinstance(self.who, Caller)
        return self.who

    async def meet_subjects(self, subjects: Iterable[str]) -> None:
        """Make the users known whom subjects such as `user:ann` name, and all users where one names a group."""
        kinds = [subject.partition(":") for subject in subjects]
        if any(kind in ("group", "total") for kind, _, _ in kinds):
            await self.meet(None)
        elif names := [name for kind, _, name in kinds if kind == "user"]:
            await self.meet(names)

    @property
    def run(self) -> RunId:
        """The run that asks."""
        assert isinstance(self.who, str)
        return self.who

    def number(self, name: str) -> int:
        """Return a number of the path: of a rank, say. Raises Invalid."""
        text = self.path[name]
        if not (text.isascii() and text.isdigit() and len(text) <= (6 if name == "rank" else 18)):
            raise Invalid(name, text, "is not a number")
        return int(text)


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """One server-sent event; `data` is JSON."""

    event: str
    data: str
    id: str | None = None

    def encode(self) -> str:
        """Return the message as server-sent event. `data` has no line breaks, so one data line is enough."""
        name = f"id: {self.id}\n" if self.id is not None else ""
        return f"{name}event: {self.event}\ndata: {self.data}\n\n"


#: Messages that are sent together, or their encoded bytes.
Batch = Sequence[StreamMessage] | bytes


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer of server-sent events, in batches; an empty batch says that there is nothing new yet."""

    batches: AsyncGenerator[Batch, None]


@dataclass(frozen=True, slots=True)
class Text:
    """An answer that is not JSON, or JSON without a model."""

    body: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class Pieces:
    """An answer of bytes that are made while they are sent."""

    pieces: AsyncGenerator[bytes, None]
    content_type: str
    #: What the file is called where a browser keeps it.
    file_name: str


Answer = BaseModel | Submission | Encoded | Stream | Text | Pieces | None


@dataclass(frozen=True)
class Route:
    """One row of the table. Parameters, body and answer are read from the function's annotations."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    #: The path, with `{name}` for variable parts.
    path: str
    #: A scope, `OPEN` or `RUN`.
    access: str
    call: Callable[[Ask[Any, Any]], Awaitable[Answer]]
    #: What the route does, in a few words.
    summary: str
    _: KW_ONLY
    status: int = 200
    #: Codes of errors that it can answer, beside those of every route.
    codes: tuple[str, ...] = ()
    #: The `Location` header: path of the created object, with `{field}` of the answer.
    location: str | None = None
    #: The most bytes of its body; None: those of every route.
    most: int | None = None
    #: For a body that is used up while it arrives (`Arriving`): makes what takes it. Its caller is known already.
    begin: Callable[[Ask[Any, Any]], Awaitable[Arriving]] | None = None
    #: Which budget its requests use; None: it follows from method and access.
    kind: Kind | None = None
    #: The request waits for something, so it is cancelled when the client goes away.
    waits: bool = False
    #: Meanings of the request headers that it reads, by name.
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Models of the data of its streams' messages, by kind of message; None: an object without a model.
    messages: Mapping[str, type[BaseModel] | None] = field(default_factory=dict)

    @cached_property
    def budget(self) -> Kind:
        """The kind of budget that its requests use."""
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
    def body(self) -> type | None:
        """The model of its body, or None if it takes none."""
        found = next(kind for kind in _kinds(get_args(self._hints["ask"])[1]) if kind is not NoneType)
        if found is Arriving:
            return RawBytes
        return None if found is Nothing else found

    @cached_property
    def body_optional(self) -> bool:
        """Whether the body may be left out."""
        return NoneType in _kinds(get_args(self._hints["ask"])[1])

    @cached_property
    def answer(self) -> type | None:
        """The model of its answer, or None if it answers no JSON model."""
        others = (Encoded, Stream, Text, Pieces)
        return next((kind for kind in _kinds(self._hints["return"]) if is_body(kind) and kind not in others), None)

    @cached_property
    def streams(self) -> bool:
        """Whether the route can answer with server-sent events."""
        return Stream in _kinds(self._hints["return"])

    @cached_property
    def text(self) -> bool:
        """Whether the route can answer a text."""
        return not {Text, Pieces}.isdisjoint(_kinds(self._hints["return"]))


def _kinds(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) is UnionType else (annotation,)


class RouteIndex:
    """The routes below a prefix. For each method, a fixed path wins over a path with variable parts."""

    def __init__(self, prefix: str, routes: Sequence[Route]) -> None:
        self.prefix = prefix
        self._routes = [
            (_pattern(prefix + route.path), route) for route in sorted(routes, key=lambda route: route.path.count("{"))
        ]

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """Return the route, and the variable parts of the path, decoded. Raises Refused: 404, 405."""
        allowed: list[str] = []
        for pattern, route in self._routes:
            match = pattern.fullmatch(path)
            if match is None:
                continue
            if route.method == method or (method, route.method) == ("HEAD", "GET"):
                return route, {name: _decode(text) for name, text in match.groupdict().items()}
            allowed += ["GET", "HEAD"] if route.method == "GET" else [route.method]
        if allowed:
            known = ", ".join(sorted(set(allowed)))
            raise Refused("method_not_allowed", f"Use {known} here, not {method[:20]}.", {"Allow": known})
        raise Refused("not_found", f"There is nothing at this path: {self.prefix}/openapi.json lists what there is.")


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path)))


def _decode(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise Refused("invalid", "The path is not UTF-8.") from None
