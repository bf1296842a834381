"""Backports to Python 3.8: `UTC`, `dataclass` with `slots` and `kw_only`, `removeprefix`.

On a Python that has them the names are Python's own.
"""

from __future__ import annotations

import dataclasses
import sys
from datetime import timezone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
    from typing import Any

__all__ = ["UTC", "dataclass", "without_prefix"]

#: `datetime.UTC`, new in 3.11.
UTC = timezone.utc


def without_prefix(text: str, prefix: str) -> str:
    """Return the text without the prefix: `str.removeprefix`, new in 3.9."""
    return text[len(prefix) :] if text.startswith(prefix) else text


if not TYPE_CHECKING:
    if sys.version_info >= (3, 10):
        dataclass = dataclasses.dataclass
    else:

        def dataclass(cls=None, *, slots=False, kw_only=False, **options):
            """Decorate as `dataclasses.dataclass` does, which has `slots` and `kw_only` since 3.10."""
            # Slots only save memory.
            del slots

            def make(kind):
                return _by_keyword(kind, options) if kw_only else dataclasses.dataclass(**options)(kind)

            return make if cls is None else make(cls)


_NOTHING = object()


def _by_keyword(kind: type[Any], options: dict[str, Any]) -> type[Any]:
    """Return a dataclass whose fields are keyword-only, so that fields with a default may come first.

    `dataclasses` of Python 3.8 refuses that order. So each field without a default gets one while the class is made,
    and `__init__` checks that the argument is given. `dataclasses.fields` then returns what it does on a newer Python.
    """
    own = [name for name in vars(kind).get("__annotations__", {}) if _has_no_default(vars(kind).get(name, _NOTHING))]
    for name in own:
        if name not in vars(kind):
            setattr(kind, name, dataclasses.field())
    needed = [getattr(kind, name) for name in own]
    needed += [field for field in getattr(kind, "__dataclass_fields__", {}).values() if _has_no_default(field)]
    for field in needed:
        field.default = None
    made: type[Any] = dataclasses.dataclass(**options)(kind)
    for field in needed:
        field.default = dataclasses.MISSING
    for name in own:
        delattr(made, name)
    made.__init__ = _asking(made.__name__, frozenset(field.name for field in needed), made.__init__)
    return made


def _has_no_default(given: Any) -> bool:
    """Return whether a field has no default, by the value in the class body: a `Field`, a default, or nothing."""
    if not isinstance(given, dataclasses.Field):
        return given is _NOTHING
    return given.default is dataclasses.MISSING and given.default_factory is dataclasses.MISSING


def _asking(name: str, required: frozenset[str], init: Callable[..., None]) -> Callable[..., None]:
    def __init__(self: Any, **given: Any) -> None:  # noqa: N807 -- it becomes one
        missing = sorted(required - given.keys())
        if missing:
            raise TypeError(f"{name}() misses the keyword arguments {', '.join(missing)}")
        init(self, **given)

    return __init__
