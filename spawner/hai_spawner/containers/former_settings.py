"""Settings of spawners by their names in earlier releases: they are taken for one release, with a warning."""

from __future__ import annotations

import logging
from typing import Any, Final

from traitlets.config import Config, Configurable

#: The names of settings in earlier releases, and their names now.
FORMER: Final = {
    "ask_places": "ask_scheduler",
    "places_api_url": "scheduler_api_url",
    "places_token_file": "scheduler_token_file",
    "without_places": "without_scheduler",
}

log = logging.getLogger(__name__)
#: Former names that were warned of: each server has a spawner, and one warning is enough.
_warned: set[str] = set()


class FormerSettings(Configurable):
    """Takes settings by their former names; where the configuration gives both, the name of now wins."""

    def _find_my_config(self, cfg: Config) -> Any:
        mine = super()._find_my_config(cfg)
        for former, name in FORMER.items():
            if former not in mine:
                continue
            value = mine.pop(former)
            if name not in mine:
                mine[name] = value
            if former not in _warned:
                _warned.add(former)
                log.warning(
                    "%s.%s is called %s now: the next release knows only that", type(self).__name__, former, name
                )
        return mine
