"""Kubernetes quantities: `4`, `3920m`, `16Gi`, `1e3`."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_SUFFIXES: Final = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
    "Ki": Decimal(2) ** 10,
    "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40,
    "Pi": Decimal(2) ** 50,
    "Ei": Decimal(2) ** 60,
}
_QUANTITY: Final = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]{0,2})")


def parse(text: str) -> Decimal:
    """Return the number that a quantity stands for. Raises ValueError with the text."""
    found = _QUANTITY.fullmatch(text.strip())
    if found is None or found[2] not in _SUFFIXES:
        raise ValueError(f"{text!r} is not a quantity; write for example 500m, 2 or 16Gi")
    try:
        return Decimal(found[1]) * _SUFFIXES[found[2]]
    except ArithmeticError:
        raise ValueError(f"{text!r} is not a quantity; write for example 500m, 2 or 16Gi") from None


def count(text: str | None) -> int:
    """Return a quantity of whole things, such as GPUs; 0 if it cannot be read."""
    try:
        return max(0, int(parse(text or "0")))
    except ValueError:
        return 0


def cpu(number: Decimal) -> str:
    """Return a number of CPUs as a quantity in thousandths (`m`), rounded down."""
    return f"{int(number * 1000)}m"


def memory(number: Decimal) -> str:
    """Return a number of bytes as a quantity in mebibytes (`Mi`), rounded down."""
    return f"{int(number) >> 20}Mi"
