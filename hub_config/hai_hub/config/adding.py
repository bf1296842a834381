"""Adding to a configuration that somebody else has begun: nothing that is there is overwritten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from traitlets.config import Config
from traitlets.config.loader import LazyConfigValue

#: What the Hub answers as `Server`: no version of tornado's.
TORNADO_SETTINGS: Final = {"headers": {"Server": "JupyterHub"}}


def given(c: Config, section: str, trait: str) -> bool:
    """Whether a value was set."""
    return section in c and trait in c[section]


def plain(c: Config, section: str, trait: str) -> Any:
    """The value that was set, or None where there is none or only additions to a default."""
    if not given(c, section, trait) or isinstance(c[section][trait], LazyConfigValue):
        return None
    return c[section][trait]


def set_default(c: Config, section: str, trait: str, value: object) -> None:
    """Set a value where there is none."""
    if not given(c, section, trait):
        c[section][trait] = value


def add_to_set(c: Config, section: str, trait: str, values: Iterable[str]) -> None:
    """Add to a set."""
    before = plain(c, section, trait)
    if before is None:
        c[section][trait].update(set(values))
    else:
        c[section][trait] = {*before, *values}


def add_to_table(c: Config, section: str, trait: str, values: Mapping[str, Any]) -> None:
    """Add to a table; keys that are there stay as they are."""
    before = plain(c, section, trait)
    if before is None:
        c[section][trait].update(dict(values))
    else:
        c[section][trait] = {**values, **before}


def add_named(c: Config, trait: str, entries: Iterable[Mapping[str, Any]]) -> None:
    """Add to one of JupyterHub's lists of tables with names, leaving out those whose name is taken."""
    before = c.JupyterHub[trait] if given(c, "JupyterHub", trait) else []
    if isinstance(before, LazyConfigValue):
        # Additions to a default, which is empty for all these lists.
        before = before.get_value([])
    taken = {entry.get("name") for entry in before}
    c.JupyterHub[trait] = [*before, *(dict(entry) for entry in entries if entry["name"] not in taken)]
