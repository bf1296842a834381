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


class FormerSettings(Configurable):
    """Takes settings that the configuration gives by their former names."""

    def _find_my_config(self, cfg: Config) -> Any:
        for section in self.section_names():
            if section in cfg:
                _rename(section, cfg[section])
        return super()._find_my_config(cfg)


def _rename(section: str, settings: Config) -> None:
    """Write the settings of one section by their names of now. The configuration is the Hub's, so it is done once.

    A former name wins: it is an administrator's, while the chart sets defaults by the names of now.
    """
    for former, name in FORMER.items():
        if former in settings:
            settings[name] = settings.pop(former)
            log.warning("%s.%s is called %s now: the next release knows only that", section, former, name)
