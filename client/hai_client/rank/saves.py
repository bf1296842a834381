"""Which files are checkpoints, by their names; and which of them the processes of a rank are writing just now.

A file counts as being written if a process of the rank has it open for writing and it moved on within `STALL_S`, and

- it lies below the checkpoint folder or a watched path, unless its name is that of a record (`is_record`); or
- it lies elsewhere, and its name looks like that of a checkpoint (`looks_like_checkpoint`); or
- it lies elsewhere, was opened after the notice to leave, and is no record.

Logs and the event files of TensorBoard are open for writing all the time: they are records, or were open before.
"""
# ruff: noqa: PTH119
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import re
from collections import OrderedDict

from hai_client.rank.openfiles import files_for_writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: A file that is open and has not moved on for so long is not a save that is going on, seconds.
STALL_S = 5.0
#: How many of the files that it wrote a rank remembers.
MAX_OWN = 1000
#: Ends of names of checkpoints, also with what their writers add until they are complete. Compiled when first used.
_CHECKPOINT = (
    r"\.(pt|pth|ckpt|safetensors|bin|npz|h5|hdf5|keras|pkl|pickle|joblib|msgpack|distcp|pdparams|pdopt|params"
    r"|weights|data-\d+-of-\d+)$"
)
_DRAFT = r"([._-]?(tmp|temp|part|partial|incomplete|new|swp|writing)[\w-]*|[.-]?\d+|~)$"
_TEMPORARY = r"\.(tmp|part|partial|incomplete)[\w.-]*$"
_IS_DRAFT = r"^\.?(tmp|temp)[._-]|[._-](tmp|temp|part|partial|incomplete|new|swp|writing)[\w-]*$|~$"
#: What is written all along, and is no checkpoint wherever it lies.
_RECORD = (
    r"^events\.out\.tfevents|^\.nfs"
    r"|\.(log|out|err|csv|tsv|jsonl|lock|pid|wandb|prof|nsys-rep|ipynb|html|png|svg|md|py|pyc)$"
)
#: Folders that hold nothing else.
RECORD_FOLDERS = frozenset({"wandb", "mlruns", "tensorboard", "__pycache__", ".git", ".ipynb_checkpoints"})


def looks_like_checkpoint(name: str) -> bool:
    """Whether a file of that name is a checkpoint wherever it lies."""
    name = name.lower()
    bare = re.sub(_DRAFT, "", name)
    return bool(re.search(_TEMPORARY, name) or re.search(_CHECKPOINT, name) or re.search(_CHECKPOINT, bare))


def is_draft(name: str) -> bool:
    """Whether a file or folder of that name is to be renamed once it is complete."""
    name = name.lower()
    return bool(re.search(_TEMPORARY, name) or re.search(_IS_DRAFT, name))


def is_record(name: str) -> bool:
    """Whether a file of that name is a log, or the like, also where checkpoints lie."""
    return bool(re.search(_RECORD, name.lower()))


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of the folders (or files), or below one."""
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


class _Open:
    """A file that is open for writing: since when, where its next byte goes, when that moved; monotonic seconds."""

    __slots__ = ("moved", "position", "since")

    def __init__(self, position: int, now: float) -> None:
        self.position = position
        self.since = now
        self.moved = now


class Saves:
    """The files that a rank is writing, from one look to the next.

    Args:
        own: The folders of the platform for this rank: what is written there is no checkpoint.
    """

    def __init__(self, own: tuple[str, ...]) -> None:
        self._own = own
        #: Where checkpoints are expected, as the kernel names these places.
        self.roots: tuple[str, ...] = ()
        self._open: dict[str, _Open] = {}
        self._own_files: OrderedDict[str, None] = OrderedDict()
        self._noticed_at: float | None = None
        #: Checkpoints that were open and are not any more: to be looked at. Taken by the thread that looks.
        self.closed: list[str] = []
        #: What is being written now; replaced, never changed, for the thread that looks.
        self.open: frozenset[str] = frozenset()
        #: What was open when its writer was ended: torn, as far as anybody knows.
        self.torn: frozenset[str] = frozenset()

    def is_own(self, path: str) -> bool:
        """Whether a process of the rank was seen to write a file."""
        return path in self._own_files

    def noticed(self, now: float) -> None:
        """From now on whatever is opened may be a save."""
        self._noticed_at = now

    def look(self, pids: Iterable[int], now: float) -> None:
        """See what the processes have open (now: monotonic seconds)."""
        found = files_for_writing(pids)
        known, self._open = self._open, {}
        for path, position in found.items():
            if not self._may_be(path):
                continue
            one = known.get(path) or _Open(position, now)
            if position != one.position:
                one.position, one.moved = position, now
            self._open[path] = one
            self._own_files[path] = None
            self._own_files.move_to_end(path)
        while len(self._own_files) > MAX_OWN:
            self._own_files.popitem(last=False)
        for path in known:
            if path not in self._open and self._counts(path):
                self.closed.append(path)
        self.open = frozenset(self._open)

    def going_on(self, now: float) -> bool:
        """Whether a checkpoint is being written, as far as the last look saw."""
        return any(now - one.moved < STALL_S and self._is_save(path, one) for path, one in self._open.items())

    def writing(self, pids: Iterable[int], now: float) -> list[str]:
        """Checkpoints that some processes have open now; with these stopped the answer lasts."""
        found = files_for_writing(pids)
        busy = []
        for path, position in found.items():
            one = self._open.get(path)
            if not self._may_be(path) or (one is not None and one.position == position and now - one.moved >= STALL_S):
                continue
            if self._is_save(path, one or _Open(position, now)):
                busy.append(path)
        return busy

    def tear(self, pids: Iterable[int]) -> None:
        """The processes are about to be ended: what they have open stays half written."""
        self.torn |= frozenset(path for path in files_for_writing(pids) if self._may_be(path))

    def tear_open(self) -> None:
        """The processes were killed by somebody else: so does what they had open at the last look."""
        self.torn |= self.open

    def _may_be(self, path: str) -> bool:
        return not is_below(path, self._own) and not is_record(os.path.basename(path))

    def _counts(self, path: str) -> bool:
        return is_below(path, self.roots) or looks_like_checkpoint(os.path.basename(path))

    def _is_save(self, path: str, one: _Open) -> bool:
        late = self._noticed_at is not None and one.since > self._noticed_at
        return late or self._counts(path)
