"""The platform's images, and where the chart's values name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

#: The chart's value that names each image.
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "hub": ("hub", "image"),
    "init": ("tasks", "initImage"),
    "proxy": ("proxy", "chp", "image"),
    "singleuser": ("singleuser", "image"),
    "task": ("tasks", "image"),
}


def as_values(digests: Mapping[str, str]) -> dict[str, Any]:
    """Return the digests of images, by their names, as values of the chart."""
    values: dict[str, Any] = {}
    for name, digest in digests.items():
        table = values
        for part in VALUES[name]:
            table = table.setdefault(part, {})
        # The chart's proxy has another name by default.
        table |= {"name": f"hai-{name}", "digest": digest}
    return values
