"""The languages of sentences: each is a file of texts by key beside this module, which a translator edits.

A text has its values in braces: `{nodes}`. One that depends on a number `n` has forms: `one` for 1, `other`, and `zero`
if that is said in another way; a language without plurals has `other` alone. Keys and values are the same in all files:
a test says what differs.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

#: The most languages of a request that are looked at.
_MOST: Final = 20
#: Regions and scripts that do not read the file of their language: their script is another one.
_OTHER_SCRIPT: Final = frozenset({"zh-tw", "zh-hk", "zh-mo", "zh-hant"})
_WEIGHT: Final = re.compile(r"q=(0(?:\.\d{1,3})?|1(?:\.0{1,3})?)")
_FORMS: Final = frozenset({"zero", "one", "other"})
_ZERO_OR_ONE: Final = ("zero", "one")


class Language:
    """The texts of a language.

    Args:
        tag: Its name as in `Accept-Language`: `zh-CN`.
        texts: By key: a text, or its forms.
    """

    def __init__(self, tag: str, texts: Mapping[str, str | Mapping[str, str]]) -> None:
        self.tag = tag
        self.texts = texts

    def __call__(self, key: str, /, **values: object) -> str:
        """Return a text with its values. Raises KeyError."""
        text = self.texts[key]
        if not isinstance(text, str):
            n = values["n"]
            form = _ZERO_OR_ONE[int(n)] if n in (0, 1) else "other"
            text = text.get(form, text["other"])
        return text.format_map(values)


@lru_cache
def languages() -> Mapping[str, Language]:
    """Return all languages by their names in small letters; each file is read once."""
    found = (_read(path) for path in sorted(Path(__file__).parent.glob("*.toml")))
    return {language.tag.lower(): language for language in found}


@lru_cache(maxsize=256)
def preferred(header: str) -> Language:
    """Return the language that suits an `Accept-Language` best: that of the first one that there is."""
    wanted = [part.partition(";") for part in header.lower().split(",", _MOST)[:_MOST]]
    weighed = [(_weight(weight), tag.strip()) for tag, _, weight in wanted]
    for weight, tag in sorted(weighed, key=lambda each: -each[0]):
        if weight and (found := _suits(tag)) is not None:
            return found
    return ENGLISH


def _weight(text: str) -> float:
    found = _WEIGHT.fullmatch(text.strip())
    return 1.0 if not text.strip() else float(found[1]) if found else 0.0


def _suits(tag: str) -> Language | None:
    known = languages()
    if tag in known:
        return known[tag]
    if any(tag == other or tag.startswith(f"{other}-") for other in _OTHER_SCRIPT):
        return None
    first = tag.partition("-")[0]
    return next((language for name, language in known.items() if name.partition("-")[0] == first), None)


def _read(path: Path) -> Language:
    return Language(path.stem.replace("_", "-"), dict(_flat(tomllib.loads(path.read_text(encoding="utf-8")))))


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str | Mapping[str, str]]]:
    """Yield keys with dots, and their texts."""
    for name, value in table.items():
        if isinstance(value, str) or value.keys() <= _FORMS:
            yield before + name, value
        else:
            yield from _flat(value, f"{before}{name}.")


#: The language of all that is written for no reader in particular: logs, errors, mails, what the store keeps.
ENGLISH: Final = _read(Path(__file__).with_name("en.toml"))
