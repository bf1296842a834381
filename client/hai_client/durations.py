"""Lengths of time as people write and read them."""

from __future__ import annotations

import re

from hai_client.errors import Invalid

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_ALIASES = {
    "sec": "s", "secs": "s", "second": "s", "seconds": "s",
    "min": "m", "mins": "m", "minute": "m", "minutes": "m",
    "hr": "h", "hrs": "h", "hour": "h", "hours": "h",
    "day": "d", "days": "d",
    "week": "w", "weeks": "w",
}  # fmt: skip
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)\s*")
#: Units of lengths that are written, in seconds.
_SHOWN = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
#: Ten years: anything longer is probably a typing error.
_LONGEST_S = 315_360_000.0


def parse_duration(text: str, *, field: str = "duration") -> float:
    """Read a length of time.

    Args:
        text: `90`, `120s`, `2m`, `1h30m`, `1.5h`, `2 days`; a number without a unit is seconds.
        field: Name of the field or option, for the error.

    Returns:
        Seconds.

    Raises:
        Invalid: The text is not a length of time, or is longer than ten years.
    """
    wrong = Invalid(f"{field}: {text!r} is not a length of time; write for example 120s, 2m, 1h30m or 4h")
    rest = text.strip().lower()
    if not rest:
        raise wrong
    parts: list[tuple[float, str]] = []
    while rest:
        match = _PART.match(rest)
        if match is None:
            raise wrong
        parts.append((float(match[1]), _ALIASES.get(match[2], match[2])))
        rest = rest[match.end() :]
    if len(parts) == 1 and not parts[0][1]:
        parts = [(parts[0][0], "s")]
    sizes = [_UNITS.get(unit, 0.0) for _, unit in parts]
    # Units must go from large to small: `30m1h` and `1h1h` are typing errors.
    if 0.0 in sizes or sorted(set(sizes), reverse=True) != sizes:
        raise wrong
    seconds = sum(number * size for (number, _), size in zip(parts, sizes))
    if seconds > _LONGEST_S:
        raise Invalid(f"{field}: {text!r} is longer than ten years; write for example 4h or 7d")
    return seconds


def format_duration(seconds: float) -> str:
    """Write a length of time with its two largest units: `45 s`, `3 min 20 s`, `1 h 58 min`, `2 d 4 h`.

    The service's sentences (`hai_scheduler.sentences.words`) and the panel have the same notation.
    """
    left = max(0, round(seconds))
    for (unit, size), (below, part) in zip(_SHOWN, _SHOWN[1:]):
        if left >= size:
            more = left % size // part
            return f"{left // size} {unit}" + (f" {more} {below}" if more else "")
    return f"{left} s"
