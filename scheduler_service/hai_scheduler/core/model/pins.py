"""Pins: the generation of an environment of haienv that a task goes on with, whatever becomes of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One generation of an environment, as it was when it was chosen."""

    #: The full name of the environment: `users/ann/vision`, `groups/cv/vision` or `base/torch`.
    name: str
    generation: int
    #: The digest of the generation's files, from its manifest: `sha256:...`.
    digest: str
    #: The program that the environment was made with.
    interpreter: str
    #: The version of its Python, such as 3.11.7.
    python: str
    #: What kind of environment it is: `venv` or `conda`.
    flavour: str = "venv"
    #: Whether the name counts, not the generation: each run takes the generation that is current at its start.
    latest: bool = False
    #: The environment's own variables; the task's variables override them.
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def reference(self) -> str:
        """The name with the generation: `users/ann/vision@3`."""
        return f"{self.name}@{self.generation}"


def used_pin(chosen: Pin | None, started: Pin | None, *, live: bool) -> Pin | None:
    """Return the generation that an unfinished task needs now, or will need again; None: none in particular.

    Args:
        chosen: What the task was submitted with.
        started: What its latest run was started with.
        live: Whether that run is live.
    """
    if chosen is None or not chosen.latest:
        return chosen
    return started if live else None
