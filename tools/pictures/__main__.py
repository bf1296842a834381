"""Write docs/pictures again: `make pictures`."""

from __future__ import annotations

import json
from pathlib import Path

from pictures.drawing import save
from pictures.stories import STORIES
from pictures.story import chart_of

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"


def main() -> None:
    """Write every picture, and beside it the data that it shows."""
    FOLDER.mkdir(exist_ok=True)
    for make in STORIES:
        story = make()
        chart = chart_of(story)
        (FOLDER / f"{story.name}.json").write_text(json.dumps(chart.as_json(), indent=1) + "\n", encoding="utf-8")
        save(chart, FOLDER / f"{story.name}.svg")
        print(f"docs/pictures/{story.name}.svg")


if __name__ == "__main__":
    main()
