"""Add to a configuration that the administrator has begun: no value that is set there is overwritten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from traitlets.config import Config
from traitlets.config.loader import LazyConfigValue

#: What the Hub answers as `Server`, no version of tornado's; for which requests browsers send its cookies, and those of
#: users' servers: not for those that other sites make, but for links that lead here.
TORNADO_SETTINGS: Final = {"headers": {"Server": "JupyterHub"}, "cookie_options": {"samesite": "Lax"}}


def given(c: Config, section: str, trait: str) -> bool:
    """Return whether the configuration sets `section.trait`."""
    return section in c and trait in c[section]


def plain(c: Config, section: str, trait: str) -> Any:
    """Return the value that was set; None where none was set, or where only additions to a default were made."""
    if not given(c, section, trait) or isinstance(c[section][trait], LazyConfigValue):
        return None
    return c[section][trait]


def set_default(c: Config, section: str, trait: str, value: object) -> None:
    """Set `section.trait` unless the configuration sets it already."""
    if not given(c, section, trait):
        c[section][trait] = value


def add_to_set(c: Config, section: str, trait: str, values: Iterable[str]) -> None:
    """Add values to a trait that is a set."""
    before = plain(c, section, trait)
    if before is None:
        c[section][trait].update(set(values))
    else:
        c[section][trait] = {*before, *values}


def add_to_table(c: Config, section: str, trait: str, values: Mapping[str, Any]) -> None:
    """Add keys to a trait that is a dict; keys that are already there keep their values."""
    before = plain(c, section, trait)
    if before is None:
        c[section][trait].update(dict(values))
    else:
        c[section][trait] = {**values, **before}


def add_named(c: Config, trait: str, entries: Iterable[Mapping[str, Any]]) -> None:
    """Add entries to one of JupyterHub's lists of named dicts; an entry whose name is taken is left out."""
    before = c.JupyterHub[trait] if given(c, "JupyterHub", trait) else []
    if isinstance(before, LazyConfigValue):
        # Additions to a default, which is empty for all these lists.
        before = before.get_value([])
    taken = {entry.get("name") for entry in before}
    c.JupyterHub[trait] = [*before, *(dict(entry) for entry in entries if entry["name"] not in taken)]
