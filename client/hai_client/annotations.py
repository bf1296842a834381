"""The annotations of a dataclass as values, on every Python since 3.8: `str | None` is read, not run.

`typing.get_type_hints` evaluates them, which Pythons before 3.10 cannot do with such spellings.
"""

from __future__ import annotations

import ast
import builtins
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Maybe:
    """`of | None`."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of


class Either:
    """`one | other` of plain types: the value itself says which it is."""

    __slots__ = ("kinds",)

    def __init__(self, kinds: tuple[Any, ...]) -> None:
        self.kinds = kinds


class Several:
    """`tuple[of, ...]`."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of


class Table:
    """`dict[str, of]`."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of


def kinds(of: type[Any]) -> dict[str, Any]:
    """Return the kind of each attribute, those of base classes included.

    A kind is a class, `typing.Any`, or one of the four above around such.

    Raises:
        TypeError: An annotation is written in a way that cannot be read here.
    """
    found: dict[str, Any] = {}
    for base in reversed(of.__mro__):
        names = vars(sys.modules[base.__module__])
        for name, text in _own(base).items():
            found[name] = _read(ast.parse(text, mode="eval").body, names)
    return found


def _own(of: type[Any]) -> Mapping[str, str]:
    """Return the annotations of the class itself: before 3.10 the attribute may be that of a base class."""
    if sys.version_info >= (3, 10):
        return getattr(of, "__annotations__", {})
    return vars(of).get("__annotations__", {})


def _read(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return names[node.id] if node.id in names else getattr(builtins, node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and _is_none(node.right):
        return Maybe(_read(node.left, names))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return Either((_read(node.left, names), _read(node.right, names)))
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        # Python 3.8 has the parts of a subscript one level further down.
        inner = getattr(node.slice, "value", node.slice)
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if node.value.id == "tuple" and len(parts) == 2 and _is_ellipsis(parts[1]):
            return Several(_read(parts[0], names))
        if node.value.id == "dict" and len(parts) == 2:
            return Table(_read(parts[1], names))
    raise TypeError(f"{ast.dump(node)} is no annotation that can be read here")


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis
