"""The texts in the language of the user's terminal. English texts are the keys, as in the panel.

A catalogue is a JSON file beside this module. `make reference` writes it from the panel's own, so that one translation
serves both. What the service says comes in this language from there: it needs no text here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from hai_client.cli.shared.locale import locale_tag

_PLACE = re.compile(r"%(\d+)")
#: Between a context and its text, as in gettext.
CONTEXT = "\x04"
#: Regions that do not read the catalogue of their language: their script is another one.
_OTHER_SCRIPT = {"zh": ("TW", "HK", "MO")}


def language(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the name of the catalogue for the user's locale, such as `zh_CN`; None: English."""
    tag, _, region = locale_tag(environ).partition("-")
    if region.upper() in _OTHER_SCRIPT.get(tag, ()):
        return None
    known = _catalogues()
    return next((name for name in known if name == f"{tag}_{region}"), None) or next(
        (name for name in known if name.partition("_")[0] == tag), None
    )


def is_english() -> bool:
    """Whether the texts are the English ones of the code."""
    return language() is None


def say(text: str, *values: object) -> str:
    """Return a text with values in its places %1, %2 and so on."""
    return _filled(_texts().get(text) or text, values)


def say_in(context: str, text: str, *values: object) -> str:
    """Return a text whose English is one word with two meanings; the context tells which."""
    return _filled(_texts().get(f"{context}{CONTEXT}{text}") or text, values)


def heading(text: str) -> str:
    """Return the title of a column. In English it is in capitals, as in all tables of the terminal."""
    return text.upper() if is_english() else say(text)


def label(text: str, *values: object) -> str:
    """Return the words before a fact, or the first of a line. In English they begin with a small letter."""
    return _filled(text[:1].lower() + text[1:], values) if is_english() else say(text, *values)


def label_in(context: str, text: str) -> str:
    """Return the words before a fact whose English has two meanings; the context tells which."""
    return label(text) if is_english() else say_in(context, text)


def sentences(*parts: str | None) -> str:
    """Return whole sentences, one after the other: Chinese has no space between them."""
    return ("" if (language() or "").startswith("zh") else " ").join(part for part in parts if part)


def _filled(text: str, values: tuple[object, ...]) -> str:
    def value(place: re.Match[str]) -> str:
        at = int(place[1]) - 1
        return str(values[at]) if at < len(values) else place[0]

    return _PLACE.sub(value, text)


@lru_cache(maxsize=None)
def _catalogues() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.json")))


def _texts() -> Mapping[str, str]:
    name = language()
    return {} if name is None else _read(name)


@lru_cache(maxsize=None)
def _read(name: str) -> Mapping[str, str]:
    found: dict[str, str] = json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
    return found
