"""Whether the checkpoint that was written last is complete: a judgement of facts that others observe, without any I/O.

A checkpoint may be many files, and its writer may compute between two of them. Silence tells its end, and how much of
it is needed depends on what is known:

- `QUIET_S`, as a rule. A saver with longer pauses between its files may be cut in between.
- `SHORT_S`, where all has been written that the saves before it wrote, as often as they did. Each of these was followed
  by `QUIET_S` of silence at least, so waiting for the rest of that tells nothing new.
- No silence is enough while a file is open for writing (`hai_client.rank.saves`).

Names are compared without their numbers: `checkpoint-20/model.pt` and `checkpoint-40/model.pt` are the same.
"""

from __future__ import annotations

import re
from collections import deque

#: For how long a checkpoint must not have changed to count as complete, seconds.
QUIET_S = 2.0
#: The same, where all was written that the ones before it wrote.
SHORT_S = 0.3
#: How many saves are remembered: also those that are done only now and then, as of the best model.
REMEMBERED = 16
#: A save of more files is remembered as one that cannot be compared.
MOST_NAMES = 10_000


class Facts:
    """What is known of the newest checkpoint at a moment.

    Args:
        as_before: Whether it has written all that the saves before it wrote (`Habits.as_before`).
        draft: Whether a file with the name of a draft is there that was made since the notice.
        everything: Whether nothing can be written to the places of checkpoints that is not noticed at once.
    """

    __slots__ = ("as_before", "draft", "everything")

    def __init__(self, *, as_before: bool, draft: bool, everything: bool) -> None:
        self.as_before = as_before
        self.draft = draft
        self.everything = everything


def quiet_needed(facts: Facts) -> float:
    """For how long nothing must have changed for a checkpoint to be complete, seconds."""
    if facts.as_before and facts.everything and not facts.draft:
        return SHORT_S
    return QUIET_S


class _Save:
    """What was written without a pause of `QUIET_S` in between."""

    __slots__ = ("ended", "found", "paths", "whole")

    def __init__(self, now: float) -> None:
        self.ended = now
        #: What was written and is still there: how often, by path.
        self.paths: dict[str, int] = {}
        self.found: set[str] = set()
        #: Whether all of it was seen.
        self.whole = True

    def names(self) -> dict[str, int]:
        """How often each name was written."""
        counts: dict[str, int] = {}
        for path, times in self.paths.items():
            name = general(path)
            counts[name] = counts.get(name, 0) + times
        return counts


class Habits:
    """How the saves of a run go. Times are monotonic seconds, and only grow."""

    def __init__(self) -> None:
        self._now: _Save | None = None
        #: Of earlier saves: how often each name was written, and whether all of it was seen.
        self._before: deque[tuple[dict[str, int], bool]] = deque(maxlen=REMEMBERED)

    @property
    def changed_at(self) -> float:
        """When something was changed last."""
        return float("-inf") if self._now is None else self._now.ended

    def written(self, path: str, now: float) -> None:
        """A file was closed after writing or renamed to this path, or a folder was renamed to it."""
        save = self._save(now)
        if path in save.found:
            # It may have been open then.
            save.found.remove(path)
        elif len(save.paths) < MOST_NAMES:
            save.paths[path] = save.paths.get(path, 0) + 1
        else:
            save.whole = False

    def found(self, path: str, now: float) -> None:
        """A file was there already when its folder, a new one, was looked into."""
        if path not in self._save(now).paths:
            self.written(path, now)
            self._save(now).found.add(path)

    def touched(self, now: float) -> None:
        """Something was made, and is not complete yet."""
        self._save(now)

    def removed(self, path: str, now: float) -> None:
        """A file or folder was renamed to something else, or removed: it was a draft, or is of an old checkpoint."""
        save = self._save(now)
        if save.paths.pop(path, None) is None:
            # A folder takes with it what is in it.
            for inner in [one for one in save.paths if one.startswith(f"{path}/")]:
                del save.paths[inner]

    def as_before(self) -> bool:
        """Whether the last save has written what each one like it wrote, no less often and no more.

        Alike are those that have a name in common with it. More often means that the next save may have begun.
        """
        save = self._now
        if save is None or not save.whole:
            return False
        names = save.names()
        alike = [one for one in self._before if not names.keys().isdisjoint(one[0])]
        return bool(alike) and all(
            whole and all(names.get(name) == times for name, times in before.items()) for before, whole in alike
        )

    def _save(self, now: float) -> _Save:
        save = self._now
        if save is None or now - save.ended >= QUIET_S:
            if save is not None and save.paths:
                self._before.append((save.names(), save.whole))
            save = self._now = _Save(now)
        save.ended = now
        return save


def general(path: str) -> str:
    """A path without its numbers, which differ from save to save."""
    return re.sub(r"\d+", "#", path)
