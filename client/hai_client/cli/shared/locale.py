"""The language of the user's terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping


def locale_tag(environ: Mapping[str, str] = os.environ) -> str:
    """Return the user's locale as `Accept-Language` names it, such as `zh-CN`; empty: there is none.

    As in all programs of the terminal, LC_ALL counts before LC_MESSAGES, and this before LANG.
    """
    locale = next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), "")
    found = re.fullmatch(r"([A-Za-z]{2,3})(?:_([A-Za-z]{2}))?(?:[.@].*)?", locale)
    return "" if found is None else "-".join(filter(None, found.groups()))
