"""Decides from observed facts whether the newest checkpoint is complete, without any I/O.

A checkpoint may be many files, and its writer may compute between two of them. A time without writes shows its end; how
long that must be depends on what is known:

- `QUIET_S`, as a rule. A save with longer pauses between its files may be cut in between.
- `SHORT_S`, where this save has written all that the saves before it wrote, as often as they did. Each of these was
  followed by `QUIET_S` without writes at least, so a longer wait would tell nothing new. The same where the framework
  has written the checkpoint into its index, which it does last (`hai_client.rank.evidence.indexes`).
- `INDEX_S`, where the framework keeps an index in which the checkpoint is missing.
- No time is enough while a file is open for writing (`hai_client.rank.evidence.saves`).

Names are compared without their numbers: `checkpoint-20/model.pt` and `checkpoint-40/model.pt` are the same.
"""

from __future__ import annotations

import re
from collections import deque

#: How long a checkpoint must be unchanged to count as complete, seconds.
QUIET_S = 2.0
#: The same, where the save has written all that the saves before it wrote.
SHORT_S = 0.3
#: The same, where the checkpoint is missing in the index of its framework.
INDEX_S = 10.0
#: How many saves are remembered: enough to include rare ones, such as those of the best model.
REMEMBERED = 16
#: A save of more files is remembered as one that cannot be compared.
MOST_NAMES = 10_000


class Facts:
    """Facts about the newest checkpoint at a moment.

    Args:
        as_before: Whether its save has written all that the saves before it wrote (`Habits.as_before`).
        draft: Whether there is a file with the name of a draft (`*.tmp`) that is not renamed yet.
        everything: Whether every write to the places of checkpoints is noticed at once.
        indexed: Whether it is in the index of its framework (`indexes.in_index`); None: there is none.
    """

    __slots__ = ("as_before", "draft", "everything", "indexed")

    def __init__(self, *, as_before: bool, draft: bool, everything: bool, indexed: bool | None) -> None:
        self.as_before = as_before
        self.draft = draft
        self.everything = everything
        self.indexed = indexed


def quiet_needed(facts: Facts) -> float:
    """Return how long a checkpoint must be unchanged to count as complete, seconds."""
    if facts.indexed is False:
        return INDEX_S
    # Where there is an index, the saves before tell less than it does.
    over = facts.as_before if facts.indexed is None else facts.indexed
    return SHORT_S if over and facts.everything and not facts.draft else QUIET_S


class _Save:
    """One save: the files that were written without a pause of `QUIET_S` in between."""

    __slots__ = ("ended", "paths", "still_open", "whole")

    def __init__(self, now: float) -> None:
        self.ended = now
        #: By path, how often a file was written that is still there.
        self.paths: dict[str, int] = {}
        #: Of these, the files that may still be open: when they are closed, that counts no second time.
        self.still_open: set[str] = set()
        #: Whether all of the save was seen.
        self.whole = True

    def names(self) -> dict[str, int]:
        """Return how often each name was written; names are paths without their numbers."""
        counts: dict[str, int] = {}
        for path, times in self.paths.items():
            name = general(path)
            counts[name] = counts.get(name, 0) + times
        return counts


class Habits:
    """The pattern of the saves of a run. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._now: _Save | None = None
        #: Of earlier saves: how often each name was written, and whether all of it was seen.
        self._before: deque[tuple[dict[str, int], bool]] = deque(maxlen=REMEMBERED)
        #: Files that were made and not closed yet. A big one takes longer than a save may pause.
        self._begun: set[str] = set()

    @property
    def changed_at(self) -> float:
        """Time of the last change, monotonic seconds; minus infinity if there was none."""
        return float("-inf") if self._now is None else self._now.ended

    def begun(self, path: str, now: float) -> None:
        """Note that a file was made, which is not complete yet."""
        self._save(now)
        if len(self._begun) < MOST_NAMES:
            self._begun.add(path)

    def written(self, path: str, now: float) -> None:
        """Note that a file was closed after writing, or that a closed file or a folder was renamed to this path."""
        save = self._save(now)
        self._begun.discard(path)
        if path in save.still_open:
            save.still_open.remove(path)
        elif len(save.paths) < MOST_NAMES:
            save.paths[path] = save.paths.get(path, 0) + 1
        else:
            save.whole = False

    def renamed_open(self, path: str, now: float) -> None:
        """Note that a file was renamed to this path, and may still be open, as with safetensors."""
        self.written(path, now)
        self._save(now).still_open.add(path)

    def found(self, path: str, now: float) -> None:
        """Note a file that was there already when its new folder was looked into; it may still be open."""
        if path not in self._save(now).paths:
            self.renamed_open(path, now)

    def touched(self, now: float) -> None:
        """Note that a folder was made."""
        self._save(now)

    def removed(self, path: str, now: float) -> bool:
        """Note that a file or folder was renamed or removed: it was a draft, or is of an old checkpoint.

        Returns:
            Whether it is a file that may still be open.
        """
        save = self._save(now)
        may_be_open = path in self._begun or path in save.still_open
        self._begun.discard(path)
        save.still_open.discard(path)
        if save.paths.pop(path, None) is None:
            # It was a folder: remove the paths below it.
            for inner in [one for one in save.paths if one.startswith(f"{path}/")]:
                del save.paths[inner]
            self._begun = {one for one in self._begun if not one.startswith(f"{path}/")}
        return may_be_open

    def as_before(self) -> bool:
        """Return whether the last save has written the same names as each similar save, and as often.

        Saves are similar if they have a name in common. A name that was written more often means that the next save
        may have begun.
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
    """Return a path with `#` for its numbers, which differ from save to save."""
    return re.sub(r"\d+", "#", path)
