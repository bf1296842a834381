"""Regular expressions of ECMA 262 in Python, whose `re` has no classes of Unicode's properties."""

from __future__ import annotations

import functools
import re
import sys
import unicodedata

#: Default_Ignorable_Code_Point, but for what is a control anyway.
_IGNORABLE = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    r"\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)


@functools.cache
def _ranges(category: str) -> str:
    found = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith(category)]
    ends = [*(at for at in range(1, len(found)) if found[at] != found[at - 1] + 1), len(found)]
    starts = [0, *ends[:-1]]
    return "".join(f"\\U{found[start]:08x}-\\U{found[end - 1]:08x}" for start, end in zip(starts, ends, strict=True))


def in_python(pattern: str) -> str:
    """Return the pattern with `\\p{...}` spelled out, and `$` as the end of the text."""
    pattern = pattern.replace(r"\p{DI}", f"[{_IGNORABLE}]")
    pattern = re.sub(r"\[[^\]]*\]", lambda found: _spelled(found[0]), pattern)
    return re.sub(r"\\p\{(\w+)\}", lambda found: f"[{_ranges(found[1])}]", pattern).replace("$", r"\Z")


def _spelled(of_class: str) -> str:
    return re.sub(r"\\p\{(\w+)\}", lambda found: _ranges(found[1]), of_class)
