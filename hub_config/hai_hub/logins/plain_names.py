"""Refuse names of users that look like others: invisible characters, other forms of letters, and mixed alphabets.

Names of all languages are good. What a name may hold beside that is the authenticator's (`username_pattern`).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final

from jupyterhub.auth import Authenticator

#: Categories of characters that cannot be seen or stand for nothing: controls, formats such as zero width spaces,
#: surrogates, private and unassigned ones, and all white space but the plain one.
_UNSEEN: Final = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
#: Characters of other categories that are shown as nothing, or as a space: fillers, selectors of variants, a blank.
_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
#: Alphabets that have letters of the same shape.
_ALIKE: Final = ("ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "GREEK", "LATIN")


def refusal_of(name: str) -> str | None:
    """Return why a name is refused, as a sentence; None: it is not."""
    shown = ascii(name[:80])
    unseen = next((one for one in name if unicodedata.category(one) in _UNSEEN or _BLANK.match(one)), None)
    if unseen is not None:
        return f"name: {shown} holds the character U+{ord(unseen):04X}, which cannot be seen: write it without"
    plain = unicodedata.normalize("NFKC", name)
    if plain != name:
        return f"name: {shown} has letters in a form that looks like others: write {plain[:80]!r} ({plain[:80]!a})"
    found = sorted({first for one in name if (first := _alphabet(one)) in _ALIKE})
    if len(found) > 1:
        mixed = " and ".join(one.capitalize() for one in found)
        return f"name: {shown} mixes letters that look alike ({mixed}): write it with those of one alphabet"
    return None


def _alphabet(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else ""


_validate_username = Authenticator.validate_username
_normalize_username = Authenticator.normalize_username


def refuse_look_alikes() -> None:
    """Let this Hub process take no new user whose name looks like another's, whatever its authenticator is."""

    def validate_username(self: Any, username: str) -> bool:
        return refusal_of(username) is None and bool(_validate_username(self, username))

    def normalize_username(self: Any, username: str) -> str:
        # It is refused as it is: in small letters it may be another's name, as the sign of Kelvin is a `k` then.
        return username if refusal_of(username) else str(_normalize_username(self, username))

    Authenticator.validate_username = validate_username
    Authenticator.normalize_username = normalize_username
