"""The pictures of docs/scheduling.md show what the scheduler does now; those of the tours are there, and small."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from docs.kit import ROOT, text_of
from pictures.chart import Chart, Span
from pictures.stories import STORIES, levels, preemption, reservation, turns
from pictures.story import Story, chart_of
from pictures.studio.camera import BIGGEST as BIGGEST_PICTURE
from pictures.studio.views import VIEWS, View

BIGGEST = 60_000
REMEDY = "look at what has changed, then run: make pictures"


@pytest.mark.parametrize("make", STORIES, ids=lambda make: make.__name__)
def test_the_data_beside_a_picture_is_what_the_engine_gives_now(make: Callable[[], Story]) -> None:
    story = make()
    assert json.loads(text_of(f"docs/pictures/{story.name}.json")) == chart_of(story).as_json(), REMEDY


@pytest.mark.parametrize("make", STORIES, ids=lambda make: make.__name__)
def test_a_picture_was_drawn_from_the_data_beside_it(make: Callable[[], Story]) -> None:
    story = make()
    picture = text_of(f"docs/pictures/{story.name}.svg")
    assert re.findall(r"<dc:description>chart (\w+)<", picture) == [chart_of(story).digest], REMEDY
    assert "<dc:date>" not in picture
    assert len(picture.encode()) < BIGGEST


def runs(chart: Chart, task: str) -> list[Span]:
    return [span for span in chart.spans if span.task == task and span.kind == "work"]


def minutes(spans: list[Span]) -> list[tuple[float, float]]:
    return [(span.begin / 60, span.end / 60) for span in spans]


def test_the_picture_of_turns_shows_that_no_task_leaves_before_its_slice() -> None:
    chart = chart_of(turns())
    assert minutes(runs(chart, "A"))[0] == (0, 30)
    assert minutes(runs(chart, "C"))[0] == (30, 60)
    assert {leave.reason for leave in chart.leaves} == {"turn_over"}


def test_the_picture_of_levels_shows_longer_turns_and_an_end_of_waiting() -> None:
    chart = chart_of(levels())
    longest = {level: max(span.end - span.begin for span in chart.spans if span.level == level and span.task == "L")
               for level in (0, 1, 2)}  # fmt: skip
    assert longest == {0: 1800, 1: 3600, 2: pytest.approx(7200, abs=60)}
    starved = next(wait for wait in chart.waits if wait.starving is not None)
    assert starved.starving == starved.begin + 4 * 3600
    assert starved.end - starved.starving <= 30 * 60


def test_the_picture_of_reservations_shows_a_start_at_the_planned_time() -> None:
    chart = chart_of(reservation())
    (kept,) = chart.kept
    (start,) = runs(chart, "G")
    assert start.begin == kept.promised == kept.end
    meanwhile = {span.task for span in chart.spans if span.nodes == ("n4",) and kept.begin < span.begin < kept.end}
    assert meanwhile == {"X", "Z"}
    assert runs(chart, "Y")[0].begin > kept.promised


def test_the_picture_of_preemption_shows_a_victim_that_saves_in_time_and_comes_back() -> None:
    chart = chart_of(preemption())
    (leave,) = chart.leaves
    assert leave.reason == "preempted"
    assert leave.end == runs(chart, "H")[0].begin < leave.deadline
    assert runs(chart, "N")[1].nodes == leave.nodes
    assert len(minutes(runs(chart, "M"))) == 2, "one turn, at two levels"


def size_of(png: bytes) -> tuple[int, int]:
    """The width and the height of a picture, from its header."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_picture_of_a_page_is_small_and_shown_in_a_tour(view: View) -> None:
    picture = (ROOT / "docs" / "pictures" / f"{view.name}.png").read_bytes()
    assert size_of(picture) == (1400, 900)
    assert len(picture) <= BIGGEST_PICTURE
    tours = text_of("docs/tour.md") + text_of("docs/tour-admins.md")
    assert re.search(rf"!\[\w[^\]]{{10,}}\]\(pictures/{view.name}\.png\)", tours), (
        "shown, with words for who cannot see it"
    )


def test_no_picture_of_a_page_is_left_over() -> None:
    there = {file.stem for file in (ROOT / "docs" / "pictures").glob("*.png")}
    assert there == {view.name for view in VIEWS}
