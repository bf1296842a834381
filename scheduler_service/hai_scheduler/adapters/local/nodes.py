"""The nodes that this machine is divided into: from flags, from a file, or from its GPUs."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hai_scheduler.core.model.limits import NAME
from hai_scheduler.core.model.node import Node

#: Number of simulated nodes when no flag or file says otherwise and the machine has no GPU.
DEFAULT_COUNT = 4
_FIELDS = ("name", "group", "leaf", "zone", "gpus", "gpu_ids")


class NodesError(ValueError):
    """The description of the nodes is wrong; the message names the place, the value and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalNode:
    """A slot of this machine. `gpu_ids` are indices of real GPUs; simulated ones have none."""

    node: Node
    gpu_ids: tuple[int, ...] = ()


def local_nodes(
    *, count: int | None = None, gpus_per_node: int | None = None, file: Path | None = None, real: Sequence[int] = ()
) -> tuple[LocalNode, ...]:
    """Return the nodes of this machine.

    A file wins over flags. Otherwise real GPUs are assigned: one node per GPU, or as the flags say if there are enough.
    On a machine without GPUs, or when the flags ask for more than it has, GPUs are simulated.

    Args:
        count: How many nodes; None lets the machine decide.
        gpus_per_node: How many GPUs each has; None lets the machine decide.
        file: A TOML file with one `[[node]]` table per node.
        real: The numbers of this machine's GPUs.

    Raises:
        NodesError: a flag or the file is wrong.
    """
    if file is not None:
        return nodes_from_file(file)
    if count is not None and count < 1:
        raise NodesError(f"the number of nodes is {count}; it must be 1 or more")
    if gpus_per_node is not None and gpus_per_node < 0:
        raise NodesError(f"the number of GPUs per node is {gpus_per_node}; it must be 0 or more")
    return _cut(real, count, gpus_per_node)


def _cut(real: Sequence[int], count: int | None, gpus: int | None) -> tuple[LocalNode, ...]:
    if gpus is None:
        gpus = 1 if count is None or len(real) < count else len(real) // count
    if count is None:
        count = len(real) // gpus if gpus and len(real) >= gpus else DEFAULT_COUNT
    enough = count * gpus <= len(real)
    return tuple(
        LocalNode(
            node=Node(name=f"node-{index + 1}", gpus=gpus),
            gpu_ids=tuple(real[index * gpus : (index + 1) * gpus]) if enough else (),
        )
        for index in range(count)
    )


def nodes_from_file(file: Path) -> tuple[LocalNode, ...]:
    """Read `[[node]]` tables with name, group, leaf, zone, gpus, gpu_ids. Raises NodesError."""
    try:
        with file.open("rb") as stream:
            data = tomllib.load(stream)
    except OSError as error:
        raise NodesError(f"{file}: {error.strerror}; name a readable file") from None
    except tomllib.TOMLDecodeError as error:
        raise NodesError(f"{file}: not TOML: {error}") from None
    unknown = sorted(set(data) - {"node"})
    if unknown:
        raise NodesError(f"{file}: unknown key {unknown[0]!r}; the file holds [[node]] tables only")
    tables = data.get("node", [])
    if not isinstance(tables, list) or not tables:
        raise NodesError(f"{file}: there is no node; write one [[node]] table per node")
    nodes = tuple(_Table(file, number, table).read() for number, table in enumerate(tables, 1))
    _check_unique(file, nodes)
    return nodes


def _check_unique(file: Path, nodes: Sequence[LocalNode]) -> None:
    names: dict[str, int] = {}
    gpus: dict[int, str] = {}
    for number, local in enumerate(nodes, 1):
        name = local.node.name
        if name in names:
            raise NodesError(
                f"{file}: [[node]] {number}: field name: {name!r} is the name of [[node]] {names[name]} too; "
                "give each node its own"
            )
        names[name] = number
        for gpu in local.gpu_ids:
            if gpu in gpus:
                raise NodesError(
                    f"{file}: [[node]] {number} ({name}): field gpu_ids: GPU {gpu} belongs to {gpus[gpu]} already; "
                    "give each GPU to one node"
                )
            gpus[gpu] = name


class _Table:
    """One `[[node]]` table."""

    def __init__(self, file: Path, number: int, table: Any) -> None:
        name = table.get("name") if isinstance(table, dict) else None
        self._where = f"{file}: [[node]] {number}" + (f" ({name})" if isinstance(name, str) else "")
        if not isinstance(table, dict):
            raise NodesError(f"{self._where}: not a table; write [[node]] above its fields")
        self._table = table

    def read(self) -> LocalNode:
        """Return the node of the table. Raises NodesError."""
        unknown = sorted(set(self._table) - set(_FIELDS))
        if unknown:
            raise self._wrong(unknown[0], self._table[unknown[0]], f"is unknown; the fields are {', '.join(_FIELDS)}")
        gpu_ids = self._gpu_ids()
        gpus = self._gpus(len(gpu_ids))
        if gpu_ids and gpus != len(gpu_ids):
            raise self._wrong("gpus", gpus, f"does not match gpu_ids, which lists {len(gpu_ids)}; leave gpus out")
        name = self._table.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise self._wrong("name", name, "must be 1 to 63 letters, digits, '.', '_' or '-', first a letter or digit")
        node = Node(
            name=name,
            group=self._text("group", "training"),
            leaf=self._text("leaf", ""),
            zone=self._text("zone", ""),
            gpus=gpus,
        )
        return LocalNode(node=node, gpu_ids=gpu_ids)

    def _text(self, field: str, default: str) -> str:
        value = self._table.get(field, default)
        if not isinstance(value, str) or (field == "group" and not NAME.fullmatch(value)):
            raise self._wrong(field, value, "must be a word in quotes")
        return value

    def _gpus(self, default: int) -> int:
        value = self._table.get("gpus", default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._wrong("gpus", value, "must be a whole number, 0 or more")
        return value

    def _gpu_ids(self) -> tuple[int, ...]:
        value = self._table.get("gpu_ids", [])
        numbers = isinstance(value, list) and all(isinstance(gpu, int) and not isinstance(gpu, bool) for gpu in value)
        if not numbers or any(gpu < 0 for gpu in value):
            raise self._wrong("gpu_ids", value, "must be a list of GPU indices such as [0, 1]")
        if len(set(value)) != len(value):
            raise self._wrong("gpu_ids", value, "names a GPU twice; name each once")
        return tuple(value)

    def _wrong(self, field: str, value: Any, remedy: str) -> NodesError:
        return NodesError(f"{self._where}: field {field}: {value!r} {remedy}")
