"""YAML that is bounded while it is read: what a short text can make PyYAML do is not in proportion to its length.

PyYAML looks at every open bracket again for every further one, so that two thousand of them cost a second. The bounds
are met by the scanner itself, at the first token that is one too many, so that neither quotes nor comments mislead
them. libyaml is no way out: it crashes on the same text.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

#: Collections within each other. An experiment needs three.
MOST_DEEP: Final = 20
#: Texts, lists, mappings and aliases altogether. An experiment needs some dozens, and two for each variable.
MOST_NODES: Final = 2000


class BeyondBounds(yaml.MarkedYAMLError):
    """What is read goes beyond the bounds; `problem` says which one, `problem_mark` where."""


class BoundedLoader(yaml.SafeLoader):
    """PyYAML's safe loader. Raises BeyondBounds for what is too deep or too much."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._nodes = 0

    def fetch_flow_collection_start(self, token: Any) -> None:
        """A bracket or a brace opens."""
        self._check_depth()
        super().fetch_flow_collection_start(token)

    def add_indent(self, column: int) -> bool:
        """A list or a mapping may begin by being indented more."""
        deeper: bool = super().add_indent(column)
        if deeper:
            self._check_depth()
        return deeper

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """One text, list, mapping or alias more."""
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise BeyondBounds(
                None,
                None,
                f"the file has more than {MOST_NODES} texts, lists and mappings: put what is long into another file",
                self.get_mark(),
            )
        return super().compose_node(parent, index)

    def _check_depth(self) -> None:
        if self.flow_level + len(self.indents) >= MOST_DEEP:
            raise BeyondBounds(
                None,
                None,
                f"this is nested more than {MOST_DEEP} levels deep, and an experiment needs three: write it flatter",
                self.get_mark(),
            )
