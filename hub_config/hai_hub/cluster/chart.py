"""Find the chart, and read its values and schema."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from hai_client.errors import Invalid

#: Folders of the chart: in a wheel inside this package, in a working tree below `helm`.
_PLACES: Final = (Path(__file__).parents[1] / "chart", Path(__file__).parents[3] / "helm" / "hai")


@dataclass(frozen=True, slots=True)
class Chart:
    """The folder of a chart."""

    folder: Path

    @classmethod
    def find(cls, folder: str | None = None) -> Chart:
        """Return the chart in a folder, or the chart that came with this package if `folder` is None.

        Raises:
            Invalid: There is no chart.
        """
        for place in _PLACES if folder is None else (Path(folder),):
            if (place / "Chart.yaml").is_file():
                return cls(place)
        shown = "this installation holds no chart; name one with" if folder is None else f"{folder} holds no chart;"
        raise Invalid(f"--chart: {shown} the folder helm/hai of the sources")

    @property
    def text(self) -> str:
        """The text of `values.yaml` with its comments."""
        return (self.folder / "values.yaml").read_text(encoding="utf-8")

    @property
    def values(self) -> dict[str, Any]:
        """The default values."""
        return dict(yaml.safe_load(self.text))

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the values."""
        return dict(json.loads((self.folder / "values.schema.json").read_text(encoding="utf-8")))
