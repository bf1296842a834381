"""Where ranks find the platform."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLocations:
    """The addresses and folders that ranks need."""

    #: The address at which ranks reach the REST interface.
    api_url: str
    #: The folder that contains the checkpoint folders of tasks that name none.
    checkpoint_root: str
