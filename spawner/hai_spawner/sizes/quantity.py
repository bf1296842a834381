"""Read and write amounts of resources in the form of Kubernetes: `500m`, `16Gi`, `4`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

#: Amounts by resource name, in whole units: cores, bytes, devices.
Amounts = Mapping[str, Decimal]

_FORM: Final = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|)")
_SUFFIXES: Final[Mapping[str, Decimal]] = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
}


def parse_quantity(text: object) -> Decimal:
    """Return an amount in whole units: cores, bytes, devices.

    Args:
        text: A number, or a text such as `500m`, `1.5`, `16Gi`, `1e3`.

    Raises:
        ValueError: The text is no amount.
    """
    match = _FORM.fullmatch(str(text)) if isinstance(text, str | int | float) and not isinstance(text, bool) else None
    if match is None:
        message = f"{text!r} is no amount; write for example 2, 500m or 16Gi"
        raise ValueError(message)
    return Decimal(match[1]) * _SUFFIXES[match[2]]


def format_bytes(amount: Decimal) -> str:
    """Return bytes in the largest binary unit of which there is at least one: `16 GiB`, `1.5 GiB`."""
    for unit in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        if amount >= _SUFFIXES[unit]:
            return f"{_plain(amount / _SUFFIXES[unit])} {unit}B"
    return f"{_plain(amount)} B"


def format_count(amount: Decimal) -> str:
    """Return a number without needless zeros: `2`, `0.5`."""
    return _plain(amount)


def _plain(amount: Decimal) -> str:
    text = f"{amount:.1f}"
    return text.removesuffix(".0")
