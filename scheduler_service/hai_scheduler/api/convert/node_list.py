"""Writes the list of nodes for its readers. Nodes that are as they were are not written again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hai_scheduler.api.convert.cluster import node_out
from hai_scheduler.service.insight.node_map import NodeFacts
from hai_scheduler.service.shared.caller import Caller

#: When the nodes were seen last is the same for all of them, and another time at each look: it is kept apart.
_SEEN: Final = b'"seen_at":'


class NodeLines:
    """The latest nodes as JSON, but for when they were seen: for strangers, and for those who may see all of a node."""

    def __init__(self) -> None:
        self._strange: dict[str, tuple[NodeFacts, bytes]] = {}
        self._known: dict[str, tuple[NodeFacts, bytes]] = {}

    def encode(self, found: Sequence[NodeFacts], caller: Caller) -> bytes:
        """Return the model `NodeList` as JSON.

        Args:
            found: The nodes, with what the caller may know of them.
            caller: Who reads it.
        """
        if not found:
            self._strange, self._known = {}, {}
            return b'{"items":[]}'
        names = {facts.view.node.name for facts in found}
        for lines in (self._strange, self._known):
            if len(lines) > len(names):
                for gone in lines.keys() - names:
                    del lines[gone]
        end = _written(found[0], caller)[1]
        return b'{"items":[' + (end + b",").join(self._line(facts, caller) for facts in found) + end + b"]}"

    def _line(self, facts: NodeFacts, caller: Caller) -> bytes:
        told = {caller.may_see(holder.user) for holder in facts.view.holders}
        if len(told) > 1:
            # Tasks of several users share it: hardly another reader sees the same of it.
            return _written(facts, caller)[0]
        lines = self._known if True in told else self._strange
        name = facts.view.node.name
        known = lines.get(name)
        if known is not None and _alike(known[0], facts):
            return known[1]
        line = _written(facts, caller)[0]
        lines[name] = facts, line
        return line


def _written(facts: NodeFacts, caller: Caller) -> tuple[bytes, bytes]:
    """Return a node up to its last field, which says when it was seen, and that field's value with the end."""
    text, name, end = node_out(facts, caller).model_dump_json().encode().rpartition(_SEEN)
    return text + name, end


def _alike(one: NodeFacts, other: NodeFacts) -> bool:
    """Whether two nodes are written alike. Tasks that have not changed are the same objects."""
    return (
        one.view == other.view
        and (one.word, one.reason, one.fallback) == (other.word, other.reason, other.fallback)
        and (one.since, one.by) == (other.since, other.by)
        and one.tasks.keys() == other.tasks.keys()
        and all(task is other.tasks[number] for number, task in one.tasks.items())
        and one.use == other.use
    )
