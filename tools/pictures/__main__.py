"""Make docs/pictures again: `make pictures`, or only some of it by name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pictures.drawing import save
from pictures.stories import STORIES
from pictures.story import chart_of

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
#: Names for all that is drawn, and for all that is taken of pages.
CHARTS, STUDIO = "charts", "studio"


def draw() -> None:
    """Draw the charts of docs/scheduling.md, and beside each write the data that it shows."""
    FOLDER.mkdir(exist_ok=True)
    for make in STORIES:
        story = make()
        chart = chart_of(story)
        (FOLDER / f"{story.name}.json").write_text(json.dumps(chart.as_json(), indent=1) + "\n", encoding="utf-8")
        save(chart, FOLDER / f"{story.name}.svg")
        print(f"docs/pictures/{story.name}.svg")


def main(names: list[str]) -> None:
    """Make what is named; all without a name."""
    if not names or CHARTS in names:
        draw()
    taken = [name for name in names if name != CHARTS]
    if taken or not names:
        # A browser, and a whole platform: only for those who want pictures of pages.
        from pictures.studio.taking import take_all

        take_all([name for name in taken if name != STUDIO])


if __name__ == "__main__":
    main(sys.argv[1:])
