"""Fields of a submission that need nothing but their definition: what asks for them, or shows them, follows from it.

That is an option of `hai submit`, a key of experiment files, a field of the panel's form, and a line wherever a task is
shown. Fields that need more (a name of another form, a menu of what there is) have a place of their own in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from hai_scheduler.service.shared.sent_as import SentAs, ValueField, annotations_of, fields_of
from hai_scheduler.service.tasks.submission import AskedFor, Submission

Kind = Literal["number", "length", "flag", "text", "word"]

_KINDS: Final[dict[Any, Kind]] = {int: "number", timedelta: "length", bool: "flag", str: "text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedField:
    """A field that is asked for, and shown, by its definition alone."""

    #: Its name in Python.
    name: str
    #: Its name in JSON: a length of time has `_s` at its end.
    wire: str
    #: What it is: a whole number, a length of time, true or false, a text, or one of `words`.
    kind: Kind
    #: The words that it can be; empty: it is of another kind.
    words: tuple[str, ...] = ()
    #: The least and the greatest number or length in seconds; None: no limit.
    least: float | None = None
    most: float | None = None
    #: Its value in JSON where nothing is said.
    default: int | float | bool | str | None = None
    #: Its name for users, and what it says, as a phrase.
    label: str
    help: str


def asked_fields(kind: type = Submission) -> Sequence[AskedField]:
    """Return these fields of a submission. Raises TypeError for one whose type cannot be asked for by itself."""
    defaults = {one.name: one.default for one in fields(kind)}
    return [
        _field(name, one, asked, defaults[name])
        for name, one in fields_of(kind).items()
        for asked in annotations_of(one.type)
        if isinstance(asked, AskedFor)
    ]


def _field(name: str, of: ValueField, asked: AskedFor, default: Any) -> AskedField:
    inner = _plain(of.type)
    words = tuple(map(str, get_args(inner))) if get_origin(inner) is Literal else ()
    if (not words and inner not in _KINDS) or default is MISSING:
        raise TypeError(
            f"{name}: a value of {inner} cannot be asked for by its definition alone: give it a default and the type "
            "int, timedelta, bool, str or Literal, or leave out `AskedFor` and write its places"
        )
    least, most = _limits(of.type)
    return AskedField(
        name=name,
        wire=of.wire,
        kind="word" if words else _KINDS[inner],
        words=words,
        least=least,
        most=most,
        default=default.total_seconds() if isinstance(default, timedelta) else default,
        label=asked.label,
        help=asked.help,
    )


def _plain(hint: Any) -> Any:
    """Return a type without annotations, and without None."""
    if get_origin(hint) is Annotated:
        return _plain(get_args(hint)[0])
    parts = [part for part in get_args(hint) if part is not type(None)]
    return _plain(parts[0]) if len(parts) == 1 and len(get_args(hint)) == 2 else hint


def _limits(hint: Any) -> tuple[float | None, float | None]:
    found = annotations_of(hint)
    found = (*found, *(one for sent in found if isinstance(sent, SentAs) for one in annotations_of(sent.wire)))
    limits = [limit for one in found if isinstance(one, FieldInfo) for limit in one.metadata]
    least = [
        getattr(limit, "ge", None) or getattr(limit, "gt", None) or 0 for limit in limits if _has(limit, "ge", "gt")
    ]
    most = [limit.le for limit in limits if _has(limit, "le")]
    return max(least, default=None), min(most, default=None)


def _has(limit: Any, *names: str) -> bool:
    return any(hasattr(limit, name) for name in names)
