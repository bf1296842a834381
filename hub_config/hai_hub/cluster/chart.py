"""Where the chart is, and what its files say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from hai_client.errors import Invalid

#: In a wheel the chart is beside this file, in a working tree at the top.
_PLACES: Final = (Path(__file__).parents[1] / "chart", Path(__file__).parents[3] / "helm" / "hai")


@dataclass(frozen=True, slots=True)
class Chart:
    """The folder of a chart."""

    folder: Path

    @classmethod
    def find(cls, folder: str | None = None) -> Chart:
        """The chart in a folder, or the one that came with this package.

        Raises:
            Invalid: There is none.
        """
        for place in _PLACES if folder is None else (Path(folder),):
            if (place / "Chart.yaml").is_file():
                return cls(place)
        shown = "this installation holds no chart; name one with" if folder is None else f"{folder} holds no chart;"
        raise Invalid(f"--chart: {shown} the folder helm/hai of the sources")

    @property
    def text(self) -> str:
        """The values file with its comments."""
        return (self.folder / "values.yaml").read_text(encoding="utf-8")

    @property
    def values(self) -> dict[str, Any]:
        """What holds where nothing is written."""
        return dict(yaml.safe_load(self.text))

    @property
    def schema(self) -> dict[str, Any]:
        """What may be written."""
        return dict(json.loads((self.folder / "values.schema.json").read_text(encoding="utf-8")))
