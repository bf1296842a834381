"""Quantities in the form of Kubernetes (`4`, `3920m`, `16Gi`), read and written, and bytes as people write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_FORM = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|)")
_SUFFIXES: dict[str, Decimal] = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
}


def parse_quantity(text: object) -> Decimal:
    """Return the number that a quantity stands for, in whole units: cores, bytes, devices.

    Args:
        text: A number, or a text such as `500m`, `1.5`, `16Gi`, `1e3`.

    Raises:
        ValueError: The text is no quantity; the message names it.
    """
    match = (
        _FORM.fullmatch(str(text).strip())
        if isinstance(text, (str, int, float)) and not isinstance(text, bool)
        else None
    )
    if match is None:
        raise ValueError(f"{text!r} is no quantity; write for example 2, 500m or 16Gi")
    return Decimal(match[1]) * _SUFFIXES[match[2]]


def count_of(text: str | None) -> int:
    """Return a quantity of whole things, such as GPUs; 0 if it is missing or cannot be read."""
    try:
        return max(0, int(parse_quantity(text or "0")))
    except ValueError:
        return 0


def pod_requests(pod: Mapping[str, Any]) -> dict[str, Decimal]:
    """Return what a pod of Kubernetes takes of its node, by resource, as kubelets count it; `pods` is 1.

    That is what its containers and sidecars request together, or what one init container does with the sidecars before
    it, where that is more. A quantity that cannot be read counts as 0.
    """
    spec = pod.get("spec") or {}
    sidecars: dict[str, Decimal] = {}
    largest: dict[str, Decimal] = {}
    for container in spec.get("initContainers") or ():
        asked = _asked(container)
        if container.get("restartPolicy") == "Always":
            sidecars = asked = _added(sidecars, asked)
        else:
            asked = _added(sidecars, asked)
        largest = _larger(largest, asked)
    total = sidecars
    for container in spec.get("containers") or ():
        total = _added(total, _asked(container))
    # Requests of the pod itself take the place of those of its containers (since 1.32).
    total = {**_larger(total, largest), **_asked(spec)}
    return {**_added(total, _amounts(spec.get("overhead"))), "pods": Decimal(1)}


def _asked(container: Mapping[str, Any]) -> dict[str, Decimal]:
    resources = container.get("resources") or {}
    # In Kubernetes a limit without a request is also the request.
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _amounts(table: Mapping[str, Any] | None) -> dict[str, Decimal]:
    return {name: amount_of(text) for name, text in (table or {}).items()}


def amount_of(text: object) -> Decimal:
    """Return the number that a quantity stands for; 0 if it is missing or cannot be read."""
    try:
        return parse_quantity(text)
    except ValueError:
        return Decimal(0)


def _added(some: Mapping[str, Decimal], more: Mapping[str, Decimal]) -> dict[str, Decimal]:
    return {name: some.get(name, Decimal(0)) + more.get(name, Decimal(0)) for name in (*some, *more)}


def _larger(some: Mapping[str, Decimal], others: Mapping[str, Decimal]) -> dict[str, Decimal]:
    return {name: max(some.get(name, Decimal(0)), others.get(name, Decimal(0))) for name in (*some, *others)}


def thousandths(number: Decimal) -> str:
    """Return a number of CPUs as a quantity in thousandths (`m`), rounded down."""
    return f"{int(number * 1000)}m"


def mebibytes(number: Decimal) -> str:
    """Return a number of bytes as a quantity in mebibytes (`Mi`), rounded down."""
    return f"{int(number) >> 20}Mi"


def format_bytes(amount: Decimal) -> str:
    """Return bytes in the largest binary unit of which there is at least one: `16 GiB`, `1.5 GiB`."""
    for unit in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        if amount >= _SUFFIXES[unit]:
            return f"{format_count(amount / _SUFFIXES[unit])} {unit}B"
    return f"{format_count(amount)} B"


def format_count(amount: Decimal) -> str:
    """Return a number with one decimal, or none if that is 0: `2`, `0.5`."""
    text = f"{amount:.1f}"
    return text[:-2] if text.endswith(".0") else text


def amount(size: int) -> str:
    """Return bytes as people write them: `14 kB`, `41 GB`."""
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.0f} {unit}" if value >= 9.95 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
