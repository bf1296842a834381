"""What computed times and figures rest on: each has a name, and some a number or a length of time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.sentences.words import duration


def assumption(
    say: Language, of: str, name: str, *, count: int | None = None, length: timedelta | None = None, known: str = ""
) -> str:
    """Return what something rests on, in one sentence.

    Args:
        say: The language.
        of: What rests on it: `forecast`, `preview` or `trial`.
        name: Which it is.
        count: The number of tasks or nodes that it is about.
        length: The length of time that it names.
        known: How it is known how long tasks run.
    """
    long = "" if length is None else duration(say, length)
    return say(f"assumption.{of}.{name}", n=0 if count is None else count, length=long, known=known)


def lengths_known(say: Language, tasks: Mapping[str, int]) -> str:
    """Return of how many tasks it is known how how long they run: `2 by their time limits, 1 as tasks of ...`."""
    return say("words.comma").join(say(f"assumption.basis.{basis}", n=count) for basis, count in tasks.items())
