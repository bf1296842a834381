"""One rendering of the chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

CHART = Path(__file__).parents[3] / "helm" / "hai"
#: Words of helm that render the chart with what a cluster says.
ON_SERVER: Final = (
    "template", "hai", str(CHART), "--namespace", "platform", "--dry-run=server", "--disable-openapi-validation",
)  # fmt: skip

#: Where the tests' values say that the API server is.
API_SERVER = "192.0.2.10/32"

Object = dict[str, Any]
Values = dict[str, Any]
#: PyYAML's parser in C is ten times as fast; not every build has it.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def objects_of(text: str) -> tuple[Object, ...]:
    """The objects that Helm has printed."""
    return tuple(entry for entry in yaml.load_all(text, Loader=LOADER) if entry)


@dataclass(frozen=True)
class Rendered:
    """The objects of one rendering; the namespace of the release is `platform`."""

    objects: tuple[Object, ...]
    text: str

    def all(self, kind: str) -> list[Object]:
        return [entry for entry in self.objects if entry["kind"] == kind]

    def one(self, kind: str, name: str) -> Object:
        (found,) = (entry for entry in self.all(kind) if entry["metadata"]["name"] == name)
        return found

    def names(self, kind: str) -> set[str]:
        return {entry["metadata"]["name"] for entry in self.all(kind)}

    def pods(self) -> Iterator[tuple[str, Object]]:
        """Every pod's spec, by the name of what makes it."""
        for entry in self.objects:
            if entry["kind"] in ("Deployment", "Job", "StatefulSet"):
                yield entry["metadata"]["name"], entry["spec"]["template"]["spec"]


Render = Callable[..., Rendered]
