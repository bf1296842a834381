"""Reads YAML with bounds, as a short text can make PyYAML work for a long time.

For each new bracket, PyYAML looks at all open ones again, so that two thousand brackets take a second. The scanner
itself checks the bounds and stops at the first token beyond them, so that quotes and comments do not count. libyaml
does not help: it crashes on the same text.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

#: The deepest nesting of collections. An experiment needs three levels.
MOST_DEEP: Final = 20
#: The most texts, lists, mappings and aliases. An experiment needs some dozens, and two for each variable.
MOST_NODES: Final = 2000


class BeyondBounds(yaml.MarkedYAMLError):
    """The text exceeds a bound; `problem` says which one, and `problem_mark` where."""


class BoundedLoader(yaml.SafeLoader):
    """PyYAML's safe loader with bounds. Raises BeyondBounds for a text that is nested too deep or too large."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._nodes = 0

    def fetch_flow_collection_start(self, token: Any) -> None:
        """Check the depth at an opening bracket or brace."""
        self._check_depth()
        super().fetch_flow_collection_start(token)

    def add_indent(self, column: int) -> bool:
        """Check the depth when a list or a mapping begins by indentation."""
        deeper: bool = super().add_indent(column)
        if deeper:
            self._check_depth()
        return deeper

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Count one more text, list, mapping or alias."""
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
