"""Finds out whether a checkpoint is in the index of Ray Train, without which Ray does not find it again.

A worker of Ray Train writes a checkpoint into a folder of its own. Ray's controller asks the workers for news every 2 s
(RAY_TRAIN_HEALTH_CHECK_INTERVAL_S), and only then writes the name of that folder into an index. A training that ends
before goes on at the checkpoint before this one (`ray.train.v2._internal.execution.checkpoint`).
"""
# ruff: noqa: PTH118, PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os

#: Ray Train makes this empty file in its storage folder before the training begins.
MARKER = ".validate_storage_marker"
INDEX = "checkpoint_manager_snapshot.json"
#: How many folders up from a file of a checkpoint the storage folder is searched.
HIGHEST = 4
#: Most bytes of an index that are read; about 100 for each checkpoint that is kept.
MAX_BYTES = 4 * 2**20


def in_index(path: str) -> bool | None:
    """Return whether the file of a checkpoint is in the index; None: no index is kept where it lies.

    Reads file systems.
    """
    for _ in range(HIGHEST):
        folder, name = os.path.split(path)
        if os.path.lexists(os.path.join(folder, MARKER)):
            index = _read(os.path.join(folder, INDEX))
            # It is written in place.
            return index.endswith(b"}") and name.encode(errors="surrogateescape") in index
        path = folder
    return None


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_BYTES)
    except OSError:
        return b""
