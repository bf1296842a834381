"""Judges whether a file is a checkpoint, from facts about it, without any I/O: one rule for platform and rehearsal.

| fact | a checkpoint |
|---|---|
| it is empty | no |
| its name, or that of a folder it lies in, is a draft's (`model.pt.tmp`, `tmp-step-20/`) | no: when it is renamed |
| it was open when its writer was ended | no |
| it is clearly shorter than each one before it, and was written in place | no: torn, or made smaller for another use |
| its name is that of a record (`train.log`, `hparams.yaml`; `metrics.json`, if it is text) | no |
| it lies in no place that was named, and has not the name of a checkpoint | no |
| it is text, without the name of a checkpoint, and grows | no: a record |
| anything else | yes |

A file that was named itself (`--watch results.csv`) is neither a draft nor a record, whatever it is called.
"""
# ruff: noqa: PTH119, PTH120
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import re

from hai_client.rank.evidence.indexes import INDEX, MARKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Ends of names of checkpoints, also with what their writers add until they are complete. Compiled when first used.
_CHECKPOINT = (
    r"\.(pt|pth|ckpt|safetensors|bin|npz|npy|h5|hdf5|keras|pkl|pickle|joblib|msgpack|distcp|pdparams|pdopt|params"
    r"|weights|data-\d+-of-\d+)$"
)
_DRAFT = r"([._-]?(tmp|temp|part|partial|incomplete|new|swp|writing)[\w-]*|[.-]?\d+|~)$"
#: A temperature is no draft: `temp-0.7/`.
_TEMP = r"(tmp|temp(?![._-]?\d))"
_TEMPORARY = r"\.(tmp|part|partial|incomplete)[\w.-]*$"
_IS_DRAFT = (
    rf"^\.?{_TEMP}[._-]|[._-]({_TEMP}|part|partial|incomplete|swp|writing)[\w-]*$|\.new$|~$"
    # As Python's tempfile names them.
    r"|^tmp[a-z0-9_]{8}$"
)
#: Names of files that are written all the time, and are no checkpoints in any folder.
_RECORD = (
    r"^events\.out\.tfevents|^\.nfs|-(wal|shm|journal)$"
    r"|\.(log|out|err|csv|tsv|jsonl|lock|pid|wandb|prof|nsys-rep|ipynb|html|png|svg|md|py|pyc)$"
)
#: Names of files that say how a training is set up or how it goes: beside checkpoints, or among their files.
_SETTINGS = r"\.(ya?ml|toml|ini|cfg|conf|xml|sh|diff|patch)$"
_SAYING = r"(^|[._-])(arg|arguments|conf|config|curve|error|eval|freeze|history|hparam|hyperparameter|info|log|loss|"
_SAYING += r"losse|metadata|metric|option|opt|param|requirement|report|result|score|setting|stat|statistic|stderr|"
_SAYING += r"stdout|summary|traceback|vocab)s?([._-]|$)"
_TEXT = r"(^|\.)(json|txt|text|dat)$|^[^.]*$"
#: Of these, the names by which a job keeps what it goes on from.
_STATE = r"(^|[._-])(checkpoint|ckpt|restart|resume|state)s?[._-]?\d*\.(csv|tsv|jsonl|out|ya?ml|toml|xml)$"
#: Files that are whole at any moment, as their journals show what was half written.
_DATABASE = r"\.(db|sqlite3?)$"
#: Numbers that tell the parts of one checkpoint apart, which differ in size; all others are those of its time.
_PART = r"((?:expert|layer|node|part|proc|process|rank|shard|stage|worker)[_=-]?\d+|\d+-of-\d+|__\d+_\d+\.distcp)|\d+"
#: Folders that hold only such files.
RECORD_FOLDERS = frozenset({"wandb", "mlruns", "tensorboard", "__pycache__", ".git", ".ipynb_checkpoints"})
#: Folders that hold programs.
PROGRAM_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"}) | RECORD_FOLDERS
#: A file shorter than this part of the shortest one before is no later version of it; nor, then, by this many bytes.
SHRUNK, AT_LEAST = 0.9, 16
#: Why a file that was open at the end is no checkpoint.
TORN = "was still being written when the job was ended"
#: Why a file is no checkpoint unless the next run reads it.
ELSEWHERE = "lies in no place that was named, and has not the name of a checkpoint"
#: Why a record is no checkpoint.
RECORD = "is a record of the training"


def looks_like_checkpoint(name: str) -> bool:
    """Return whether a file of that name is a checkpoint in any folder, or a draft of one."""
    name = name.lower()
    bare = re.sub(_DRAFT, "", name)
    return bool(re.search(_TEMPORARY, name) or re.search(_CHECKPOINT, name) or re.search(_CHECKPOINT, bare))


def is_draft(name: str) -> bool:
    """Return whether the name is that of a draft, which is renamed when it is complete."""
    name = name.lower()
    return bool(re.search(_TEMPORARY, name) or re.search(_IS_DRAFT, name))


def is_record(name: str) -> bool:
    """Return whether a file of that name is a log or the like, even in a folder of checkpoints."""
    name = name.lower()
    return name in (MARKER, INDEX) or bool(re.search(_RECORD, name) and not re.search(_STATE, name))


def is_database(name: str) -> bool:
    """Return whether a file of that name can be open when its writer is ended, and is not torn by that."""
    return bool(re.search(_DATABASE, name.lower()))


def over_time(path: str) -> str:
    """Return what the path of a file has in common with those of the same part of earlier checkpoints."""
    return re.sub(_PART, lambda found: found[1] or "#", path, flags=re.IGNORECASE)


def may_be_text(name: str) -> bool:
    """Return whether only the content of a file of that name tells whether it is text, and so may be a record."""
    return not looks_like_checkpoint(name) and bool(re.search(_TEXT, name.lower()))


def is_text(beginning: bytes) -> bool:
    """Return whether a file that begins so is text."""
    return not any(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in beginning)


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of the folders (or files), or below one."""
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


class FileFacts:
    """What is known of a file.

    Args:
        path: Its path.
        place: The place of checkpoints that it lies in; None: it lies in none that was named.
        size: Its size, bytes.
        before: The size of the shortest complete one before it (`over_time`); None: there was none.
        moved: Whether it was renamed into place, as files are that are complete.
        torn: Whether it was open for writing when its writer was ended.
        text: Whether its content is text; asked only where `may_be_text` says that it matters.
        grows: Whether it was seen to grow in place, and never to be replaced.
    """

    __slots__ = ("before", "grows", "moved", "path", "place", "size", "text", "torn")

    def __init__(
        self,
        path: str,
        *,
        place: str | None,
        size: int,
        before: int | None = None,
        moved: bool = False,
        torn: bool = False,
        text: bool = False,
        grows: bool = False,
    ) -> None:
        self.path = path
        self.place = place
        self.size = size
        self.before = before
        self.moved = moved
        self.torn = torn
        self.text = text
        self.grows = grows


def why_not(facts: FileFacts) -> str | None:
    """Return why a file is no checkpoint, as the end of a sentence that begins with its name; None: it is one."""
    name = os.path.basename(facts.path)
    named = facts.path == facts.place
    inside = facts.path if facts.place is None else facts.path[len(facts.place) :]
    folders = [] if facts.place is None else os.path.dirname(inside).split("/")
    if (is_draft(name) and not named) or any(is_draft(folder) for folder in folders):
        return "has the name of a draft, which was not renamed"
    if facts.torn:
        return TORN
    if facts.size == 0:
        return "is empty"
    before = facts.size if facts.before is None or facts.moved else facts.before
    if facts.size < before * SHRUNK and before - facts.size > AT_LEAST:
        return f"has {facts.size:,} bytes, where those before it had {before:,} at least"
    known = looks_like_checkpoint(name)
    if not known and facts.place is None:
        return ELSEWHERE
    if not named and (_is_for_people(name) or (not known and facts.text and (facts.grows or _says_something(name)))):
        return RECORD
    return None


def _is_for_people(name: str) -> bool:
    name = name.lower()
    return is_record(name) or bool(re.search(_SETTINGS, name) and not re.search(_STATE, name))


def _says_something(name: str) -> bool:
    return may_be_text(name) and bool(re.search(_SAYING, name.lower()))
