"""Splits the words of a command into options, their values and other words, as Slurm's commands do (GNU getopt)."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_UNKNOWN = "not an option that HAI knows of; leave it out, or see docs/users.md"


class BadOption(ValueError):
    """An option is malformed, or the job would be another one without it; the message names it and the remedy."""


class KnownOptions:
    """The options of a command.

    Args:
        letters: The long name of each letter; with `=` if it takes a value, with `=?` if it may (only after `=`).
        others: Further long names, and the option that each is another name of.
    """

    def __init__(self, letters: Mapping[str, str], others: Mapping[str, str]) -> None:
        self._short = letters
        self._long = {name.rstrip("=?"): name for name in letters.values()}
        for name, same in others.items():
            self._long.setdefault(name, self._long.get(same.rstrip("=?"), same))

    def split(
        self, words: Sequence[str], *, anywhere: bool = True, at: str = ""
    ) -> tuple[list[tuple[str, str]], list[str]]:
        """Return the long names of the options with their values, and the other words. Raises BadOption.

        Args:
            words: The words.
            anywhere: Whether options may stand after other words.
            at: The place of the words for error messages, such as `line 3: `.
        """
        found: list[tuple[str, str]] = []
        rest: list[str] = []
        waiting = list(words)
        while waiting:
            word = waiting.pop(0)
            if word == "--":
                break
            if word.startswith("--"):
                name, given, value = word[2:].partition("=")
                option = self._find(name, at)
                if option.endswith("=") and not given:
                    value = _next(waiting, f"{at}{word}")
                found.append((option.rstrip("=?"), value))
            elif word.startswith("-") and len(word) > 1:
                self._take_letters(word[1:], waiting, found, at)
            else:
                rest.append(word)
                if not anywhere:
                    break
        return found, rest + waiting

    def _take_letters(self, letters: str, waiting: list[str], found: list[tuple[str, str]], at: str) -> None:
        while letters:
            letter, letters = letters[0], letters[1:]
            option = self._short.get(letter)
            if option is None:
                raise BadOption(f"{at}-{letter}: {_UNKNOWN}")
            value = ""
            if option.endswith("="):
                value, letters = letters or _next(waiting, f"{at}-{letter}"), ""
            elif option.endswith("=?") and re.match(r"=?[0-9]", letters):
                value, letters = letters.lstrip("="), ""
            found.append((option.rstrip("=?"), value))

    def _find(self, name: str, at: str) -> str:
        """Return the option of a name, or of the beginning of one."""
        begun = {option for long, option in self._long.items() if name and long.startswith(name)}
        option = self._long.get(name) or (begun.pop() if len(begun) == 1 else None)
        if option is None:
            several = ", ".join(sorted(f"--{each.rstrip('=?')}" for each in begun))
            raise BadOption(f"{at}--{name}: " + (f"it may be {several}: write it in full" if several else _UNKNOWN))
        return option


def _next(waiting: list[str], word: str) -> str:
    if not waiting:
        raise BadOption(f"{word}: a value is missing")
    return waiting.pop(0)
