"""Rules of `.haiignore` and `.gitignore`, with the meaning that git gives to them (gitignore(5)).

A rule of a deeper folder wins over one further up, a later rule over an earlier one, and nothing below a folder that is
left out can be taken back with `!`.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Pattern, Sequence

#: POSIX classes in brackets, as Python writes them; only ASCII, as in git.
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
#: A pattern that can match nothing, such as one with an open bracket.
_NOTHING = r"(?!)"
_SPECIAL = re.compile(r"[*?\[\\]")


class Rule(NamedTuple):
    """One line of a file of rules."""

    leaves_out: bool  #: Whether it leaves files out; else it takes them back.
    folders_only: bool  #: Whether it is for folders alone.
    anchored: bool  #: Whether it is for the path from the folder of the rules; else it is for the last name.
    pattern: Pattern[str]
    name: str | None  #: The name that it is for, if it has no wildcard and no folder.


class IgnoreRules:
    """The rules of one file.

    Args:
        text: The content of the file.
    """

    def __init__(self, text: str) -> None:
        self._rules: list[tuple[int, Rule]] = []
        self._names: dict[str, list[tuple[int, Rule]]] = {}
        for number, line in enumerate(text.lstrip("\ufeff").split("\n")):
            rule = rule_of(line)
            if rule is None:
                continue
            (self._rules if rule.name is None else self._names.setdefault(rule.name, [])).append((number, rule))

    def says(self, path: str, *, folder: bool) -> bool | None:
        """Return whether to leave out what lies at a path, relative to the folder of the rules; None: no rule says."""
        name = path.rpartition("/")[2]
        best, said = -1, None
        for number, rule in self._names.get(name, ()):
            if folder or not rule.folders_only:
                best, said = number, rule.leaves_out
        for number, rule in reversed(self._rules):
            if number < best:
                break
            if (folder or not rule.folders_only) and rule.pattern.fullmatch(path if rule.anchored else name):
                return rule.leaves_out
        return said


def rule_of(line: str) -> Rule | None:
    """Return the rule of a line; None for a comment or an empty line."""
    line = _without_trailing_spaces(line[:-1] if line.endswith("\r") else line)
    if not line or line.startswith("#"):
        return None
    leaves_out = not line.startswith("!")
    if not leaves_out:
        line = line[1:]
    folders_only = line.endswith("/")
    if folders_only:
        line = line[:-1]
    anchored = "/" in line
    if line.startswith("/"):
        line = line[1:]
    if not line:
        return None
    literal = None if anchored or _SPECIAL.search(line) else line
    return Rule(leaves_out, folders_only, anchored, re.compile(_translated(line, anchored), re.DOTALL), literal)


def _without_trailing_spaces(line: str) -> str:
    end = len(line)
    while end and line[end - 1] == " ":
        slashes = 0
        while end - 2 - slashes >= 0 and line[end - 2 - slashes] == "\\":
            slashes += 1
        if slashes % 2:
            break
        end -= 1
    return line[:end]


def _translated(pattern: str, anchored: bool) -> str:  # noqa: C901 -- one branch for each sign
    """Return the regular expression of a pattern."""
    found: list[str] = []
    at, end = 0, len(pattern)
    while at < end:
        letter = pattern[at]
        if letter == "*":
            run = at
            while run < end and pattern[run] == "*":
                run += 1
            alone = run - at == 2 and anchored and (at == 0 or pattern[at - 1] == "/")
            if alone and run == end:
                # `a/**`: all that is below a, not a itself.
                found.append(".*" if at == 0 else ".+")
            elif alone and pattern[run] == "/":
                found.append("(?:.*/)?")
                run += 1
            else:
                found.append("[^/]*")
            at = run
        elif letter == "?":
            found.append("[^/]")
            at += 1
        elif letter == "[":
            made = _bracket(pattern, at)
            if made is None:
                return _NOTHING
            found.append(made[0])
            at = made[1]
        elif letter == "\\":
            if at + 1 == end:
                return _NOTHING
            found.append(re.escape(pattern[at + 1]))
            at += 2
        else:
            found.append(re.escape(letter))
            at += 1
    return "".join(found)


def _bracket(pattern: str, start: int) -> tuple[str, int] | None:  # noqa: C901 -- one branch for each sign
    """Return the expression of the brackets at `start`, and where they end; None where they do not."""
    at = start + 1
    negated = at < len(pattern) and pattern[at] in "!^"
    at += negated
    inside: list[str] = []
    first = True
    while at < len(pattern):
        letter = pattern[at]
        if letter == "]" and not first:
            body = "".join(inside)
            # No bracket matches the slash between folders.
            return (f"(?!/)[^{body}]" if negated else f"(?!/)[{body}]"), at + 1
        first = False
        if letter == "[" and pattern.startswith("[:", at):
            close = pattern.find(":]", at + 2)
            known = _CLASSES.get(pattern[at + 2 : close]) if close >= 0 else None
            if close >= 0 and known is None:
                return None
            if known is not None:
                inside.append(known)
                at = close + 2
                continue
        low, at = _letter(pattern, at)
        if low is None:
            return None
        if at + 1 < len(pattern) and pattern[at] == "-" and pattern[at + 1] != "]":
            high, at = _letter(pattern, at + 1)
            if high is None:
                return None
            if low <= high:
                inside.append(f"{re.escape(low)}-{re.escape(high)}")
            elif not inside:
                # An empty range matches nothing; Python has no empty brackets.
                inside.append("/")
        else:
            inside.append(re.escape(low))
    return None


def _letter(pattern: str, at: int) -> tuple[str | None, int]:
    if pattern[at] != "\\":
        return pattern[at], at + 1
    return (pattern[at + 1], at + 2) if at + 1 < len(pattern) else (None, at + 1)


def left_out(layers: Sequence[tuple[int, IgnoreRules]], path: str, *, folder: bool) -> bool:
    """Return whether rules leave out a path; the folders above it are not.

    Args:
        layers: The rules that hold there, the outermost first; each with the number of characters of the path before
            the part that its rules are about.
        path: The path.
        folder: Whether it is a folder.
    """
    for skip, rules in reversed(layers):
        said = rules.says(path[skip:], folder=folder)
        if said is not None:
            return said
    return False
