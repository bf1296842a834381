"""`save` and `load`: one checkpoint in several files, of which each rank writes its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from hfai.checkpoint import _files

VERSION = 1
#: Names that a checkpoint uses itself.
OWN = frozenset({"model", "optimizer", "hai_parts", "hai_version"})


def save(
    fname: str | os.PathLike[str], model: Any, optimizer: Any = None, others: Any = None, group: Any = None
) -> None:
    """Write a checkpoint to a folder, each rank a share of the tensors, in parallel. Every rank must call this.

    The folder is replaced completely or not at all.

    Args:
        fname: The folder.
        model: A model that is the same on every rank, or a list of them.
        optimizer: An optimizer that is the same on every rank, or a list of them, or None.
        others: A dict of further things of rank 0: numbers, texts, lists, dicts, tensors.
        group: The ranks that write; all of them by default.

    Raises:
        ValueError: A name in `others` is taken.
    """
    others = _files.simple(dict(others or {}))
    taken = sorted(OWN & others.keys())
    if taken:
        raise ValueError(f"others: {', '.join(taken)} is the checkpoint's own; use other names")
    rank = dist.get_rank(group) if dist.is_initialized() else 0
    ranks = dist.get_world_size(group) if dist.is_initialized() else 1
    folder = Path(fname)
    draft = folder.with_name(f".{folder.name}.new")
    if rank == 0:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
    _wait(group)
    state: dict[str, Any] = {
        "hai_version": VERSION,
        "hai_parts": ranks,
        "model": [_share(one, rank, ranks) for one in _states(model)],
        "optimizer": [_share(one, rank, ranks) for one in _states(optimizer)],
    }
    _files.write({**state, **(others if rank == 0 else {})}, draft / f"PART_{rank:03d}.pt")
    _wait(group)
    if rank == 0:
        _replace(draft, folder)
    _wait(group)


def load(fname: str | os.PathLike[str], nthreads: int = 8, **options: Any) -> dict[str, Any]:
    """Read a complete checkpoint of `save`; return a dict of `model`, `optimizer`, and the others by their names.

    Args:
        fname: The folder.
        nthreads: Unused: reading is as fast as the disk.
        options: For `torch.load`, for example `map_location="cpu"`.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: The checkpoint is incomplete, or was not written by this `save`.
    """
    folder = _whole(Path(fname))
    states: list[dict[str, Any]] = [_files.read(path, **options) for path in _files.parts(folder)]
    if not states:
        raise FileNotFoundError(f"{fname} has no PART_000.pt; it is no checkpoint of hfai.checkpoint.save")
    if states[0].get("hai_version") != VERSION:
        raise ValueError(f"{fname} is of another version, or was written by the original: it cannot be read here")
    if len(states) != states[0]["hai_parts"]:
        raise ValueError(f"{fname} has {len(states)} of {states[0]['hai_parts']} parts; use another checkpoint")
    found = {name: value for name, value in states[0].items() if name not in OWN}
    for kind in ("model", "optimizer"):
        whole = [_join([state[kind][place] for state in states]) for place in range(len(states[0][kind]))]
        if whole:
            found[kind] = whole[0] if len(whole) == 1 else whole
    return found


def _states(things: Any) -> list[Any]:
    if things is None:
        return []
    many = things if isinstance(things, (list, tuple)) else [things]
    return [_files.simple(dict(one if isinstance(one, dict) else one.state_dict())) for one in many]


def _share(state: Any, rank: int, ranks: int) -> Any:
    """Return the state with every n-th tensor, counted from the largest, and None in the place of the others."""
    tensors: list[Any] = []
    _walk(state, tensors.append)
    order = sorted(range(len(tensors)), key=lambda place: (-tensors[place].numel(), place))
    own = {place for turn, place in enumerate(order) if turn % ranks == rank}
    places = iter(range(len(tensors)))
    # Clone: a view would be saved with its whole storage.
    return _walk(state, lambda tensor: {"hai_tensor": tensor.detach().clone() if next(places) in own else None})


def _join(shares: list[Any]) -> Any:
    """Return the state whose tensors are spread over the shares."""
    first = shares[0]
    if isinstance(first, dict) and set(first) == {"hai_tensor"}:
        return next(share["hai_tensor"] for share in shares if share["hai_tensor"] is not None)
    if isinstance(first, dict):
        return {key: _join([share[key] for share in shares]) for key in first}
    if type(first) in (list, tuple):
        return type(first)(_join([share[place] for share in shares]) for place in range(len(first)))
    return first


def _walk(value: Any, change: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _walk(item, change) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_walk(item, change) for item in value)
    return value


def _replace(draft: Path, folder: Path) -> None:
    """Replace a folder by another, with two renames; in between the old one has the name of `_old`."""
    old = _old(folder)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.replace(old)
    draft.replace(folder)
    _files.sync_folder(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def _whole(folder: Path) -> Path:
    """Return the folder; after a kill between the two renames, the old one."""
    old = _old(folder)
    return old if old.exists() and not folder.exists() else folder


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _wait(group: Any | None) -> None:
    if dist.is_initialized():
        dist.barrier(group=group)
