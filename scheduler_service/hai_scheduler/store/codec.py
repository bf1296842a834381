"""Writes values of dataclasses as rows and reads them back, by the types of their fields.

A time is written as microseconds since 1970, a length of time as microseconds, an enumeration as its value, a day and
a decimal number as text; in JSON, a set as a sorted list, and a dataclass as an object. What a job or an older version
has not written is read as the field's default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from operator import attrgetter, itemgetter
from types import UnionType
from typing import Any, Final, Generic, NamedTuple, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from sqlalchemy import Table

from hai_scheduler.core.model.ids import Origin
from hai_scheduler.core.model.leaving import SignalName
from hai_scheduler.core.model.usage_summary import UsageLevel, UsageSummary

_LEVELS: Final = ("cpu", "memory", "gpu_use", "gpu_memory", "gpu_power")
_NUMBERS: Final = ("seconds", "gpus", "gpu_seconds", "gpu_idle_seconds", "joules")


def usage_values(summary: UsageSummary | None) -> dict[str, Any] | None:
    """Return a summary as plain data, without what was not measured."""
    if summary is None:
        return None
    levels = {name: getattr(summary, name) for name in _LEVELS}
    found: dict[str, Any] = {name: [level.mean, level.peak] for name, level in levels.items() if level is not None}
    return found | {name: value for name in _NUMBERS if (value := getattr(summary, name))}


def usage_of(value: Mapping[str, Any] | None) -> UsageSummary | None:
    """Return a summary as `usage_values` has written it."""
    if value is None:
        return None
    found: dict[str, Any] = {name: value.get(name, 0) for name in _NUMBERS}
    return UsageSummary(**found | {name: _level_of(value.get(name)) for name in _LEVELS})


def _level_of(pair: Sequence[float] | None) -> UsageLevel | None:
    return None if pair is None else UsageLevel(*pair)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
#: Bounds of times that are read, in microseconds, with room for sums: a row that cannot be read would stop every tick.
_FIRST, _LAST = ((datetime(year, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND for year in (2, 9000))
#: The column for all fields that have none, as one object of JSON.
_REST: Final = "data"

_T = TypeVar("_T")
_Values = dict[str, Any]
_Turn = Callable[[Any], Any]


def to_instant(when: datetime) -> int:
    """Return a time as microseconds since 1970. Raises TypeError for a time without a zone."""
    return (when - _EPOCH) // _MICROSECOND


def of_instant(value: int) -> datetime:
    """Return the time of microseconds since 1970: aware UTC, moved into the years 2 to 9000 if it is outside."""
    return _EPOCH + timedelta(microseconds=value if _FIRST <= value <= _LAST else max(_FIRST, min(_LAST, value)))


class _Form(NamedTuple):
    """How values of a type are written and read; None: as they are."""

    write: _Turn | None = None
    read: _Turn | None = None


_AS_IS: Final = _Form()
_FORMS: Final[dict[object, _Form]] = {
    datetime: _Form(to_instant, of_instant),
    timedelta: _Form(lambda span: span // _MICROSECOND, lambda value: timedelta(microseconds=value)),
    date: _Form(date.isoformat, date.fromisoformat),
    Decimal: _Form(str, Decimal),
    Origin: _Form(str, Origin.parse),
    SignalName: _Form(attrgetter("name"), SignalName.__getitem__),
    UsageSummary: _Form(usage_values, usage_of),
}
#: What a field that cannot be None has where a column says NULL.
_EMPTY: Final[dict[object, Any]] = {str: "", tuple: (), frozenset: frozenset()}


def _form_of(hint: Any) -> _Form:
    """Return how values of a type are written, where they are not None."""
    if isinstance(hint, NewType):
        return _form_of(hint.__supertype__)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        some = [each for each in args if each is not type(None)]
        return _form_of(some[0]) if len(some) == 1 else _AS_IS
    if origin in (tuple, frozenset):
        return _collected(_form_of(args[0]), sorted if origin is frozenset else list, origin)
    if isinstance(origin, type):
        return _Form(dict) if issubclass(origin, Mapping) else _AS_IS
    if hint in _FORMS:
        return _FORMS[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        # A look-up is several times faster than a call of the enumeration: a tick reads thousands of rows.
        return _Form(attrgetter("value"), {member.value: member for member in hint}.__getitem__)
    if is_dataclass(hint) and isinstance(hint, type):
        codec = fields_codec(hint)
        return _Form(codec.write, codec.read)
    return _AS_IS


def _collected(each: _Form, written: Callable[[Any], list[Any]], kind: _Turn) -> _Form:
    write, read = each
    return _Form(
        written if write is None else lambda some: written([write(one) for one in some]),
        kind if read is None else lambda some: kind([read(one) for one in some]),
    )


class FieldCodec(Generic[_T]):
    """Values of a dataclass, or of some of its fields, as plain data by the names of the fields."""

    def __init__(self, kind: type[_T], names: Sequence[str]) -> None:
        self.kind = kind
        self.names = tuple(names)
        self._known = frozenset(names)
        hints = get_type_hints(kind)
        forms = {name: _form_of(hints[name]) for name in names}
        self._get = attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, names[0]),)
        self._writes = [(name, form.write) for name, form in forms.items() if form.write is not None]
        self._reads = [(name, form.read) for name, form in forms.items() if form.read is not None]
        #: What each field is that cannot be None, and has an empty value.
        self.empty = {
            name: _EMPTY[kind] for name in names if (kind := get_origin(hints[name]) or hints[name]) in _EMPTY
        }

    def write(self, value: Any) -> _Values:
        """Return plain data."""
        found = dict(zip(self.names, self._get(value), strict=True))
        for name, write in self._writes:
            if (one := found[name]) is not None:
                found[name] = write(one)
        return found

    def fields_of(self, found: _Values) -> _Values:
        """Return the values of fields from plain data, which is changed in place."""
        for name, read in self._reads:
            if (one := found.get(name)) is not None:
                found[name] = read(one)
        return found

    def own(self, found: Mapping[str, Any]) -> _Values:
        """Return the plain data of its fields from an object of JSON, as a copy."""
        known = self._known
        return dict(found) if found.keys() <= known else {name: found[name] for name in known & found.keys()}

    def read(self, found: Mapping[str, Any]) -> _T:
        """Return the value of an object of JSON. What it lacks has its default, what it has beside is left out."""
        return self.kind(**self.fields_of(self.own(found)))


@cache
def fields_codec(kind: type[_T]) -> FieldCodec[_T]:
    """Return how values of a dataclass are written into JSON, with all of its fields."""
    return FieldCodec(kind, [each.name for each in fields(kind)])  # type: ignore[arg-type]


class RowCodec(Generic[_T]):
    """Values of a dataclass as rows of a table.

    A field is in the column of its name. Fields without a column are together in the column `data`. Where a field
    cannot be None and its column can, NULL stands for an empty value.
    """

    def __init__(self, kind: type[_T], table: Table, *, given: Sequence[str] = (), **columns: str) -> None:
        """Make the codec.

        Args:
            kind: The dataclass.
            table: The table.
            given: Fields that are not in the row: `of` is given them.
            columns: The column of each field that has another name in the table.

        Raises:
            TypeError: A field has no column, and the table has no column `data` for it.
        """
        names = [each.name for each in fields(kind) if each.name not in given]  # type: ignore[arg-type]
        places = {name: columns.get(name, name) for name in names}
        own = [name for name in names if places[name] in table.columns]
        rest = [name for name in names if name not in own]
        if rest and (_REST not in table.columns or _REST in own):
            raise TypeError(f"{kind.__name__} has fields without a column in {table.name}: {', '.join(rest)}")
        order = {column.name: place for place, column in enumerate(table.columns)}
        self._read = FieldCodec(kind, own)
        self._pick: Callable[[Sequence[Any]], Sequence[Any]] = itemgetter(*(order[places[name]] for name in own))
        self._empty = {name: no for name, no in self._read.empty.items() if table.columns[places[name]].nullable}
        self._rest = FieldCodec(kind, rest) if rest else None
        self._rest_at = order.get(_REST, 0)
        # The database itself numbers rows.
        written = [name for name in own if table.columns[places[name]] is not table.autoincrement_column]
        self._write = FieldCodec(kind, written)
        self._columns = [places[name] for name in written]
        self._null_if_empty = [places[name] for name in self._empty]

    def values(self, value: _T, **more: Any) -> _Values:
        """Return the columns of a value and `more`, without one in which the database numbers the rows."""
        found = dict(zip(self._columns, self._write.write(value).values(), strict=True))
        for column in self._null_if_empty:
            found[column] = found[column] or None
        if self._rest is not None:
            found[_REST] = self._rest.write(value)
        return found | more if more else found

    def of(self, row: Sequence[Any], **given: Any) -> _T:
        """Return the value of a row that begins with the columns of the table, in their order."""
        found = dict(zip(self._read.names, self._pick(row), strict=True))
        for name, empty in self._empty.items():
            if found[name] is None:
                found[name] = empty
        self._read.fields_of(found)
        if self._rest is not None:
            found.update(self._rest.fields_of(self._rest.own(row[self._rest_at] or {})))
        return self._read.kind(**found, **given)
