"""`hai sim compare`: several rules side by side, as a table, a picture and a page."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hai_client.errors import Invalid
from hai_scheduler.sim_cli import command
from hai_scheduler.sim_cli import compare as module
from unit.sim_cli.answers import answer


def test_compare_shows_policies_side_by_side(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["compare", trace, "--nodes", "2", "--policies", "hai,hai/slice=2h,fifo"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["FIGURE", "hai", "hai/slice=2h", "fifo"]
    suspensions = next(row for row in rows if row.startswith("suspensions "))
    assert suspensions.split()[-1] == "0"


def test_compare_draws_and_reports(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    picture, report = tmp_path / "out.svg", tmp_path / "report.html"
    words = ["--policies", "hai,fifo", "--picture", str(picture), "--html", str(report), "--json"]
    assert command(["compare", trace, "--nodes", "4", *words]) == 0
    assert [made["policy"] for made in answer(capsys)["policies"]] == ["hai", "fifo"]
    assert "<svg" in picture.read_text()
    assert "all users have unlimited quota" in report.read_text()


def test_without_matplotlib_the_remedy_is_said_before_the_work(
    trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "hai_scheduler.sim.picture", raising=False)
    with pytest.raises(Invalid, match=r"needs? the package 'matplotlib'.*hai-platform\[sim\]"):
        command(["compare", trace, "--nodes", "4", "--picture", str(tmp_path / "x.png")])


@pytest.fixture
def never_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test fails if anything is simulated."""

    def simulated(*_: object) -> None:
        raise AssertionError("it was simulated before its words were checked")

    monkeypatch.setattr(module, "simulated", simulated)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--picture", "x.gif"], r"--picture: 'x\.gif' must end with \.png"),
        (["--picture", "x"], "--picture: 'x' must end with"),
        (["--picture", "/none/x.png"], "--picture: '/none/x.png' cannot be written"),
        (["--html", "/none/x.html"], "--html: '/none/x.html' cannot be written"),
        (["--policies", "hai,lottery"], "lottery"),
        (["--policies", "hai/min_run=2h"], "below min_run"),
    ],
)
def test_wrong_words_are_refused_before_the_work(
    trace: str, never_simulated: None, words: list[str], message: str
) -> None:
    with pytest.raises(Invalid, match=message) as refused:
        command(["compare", trace, "--nodes", "4", *words])
    assert "\n" not in refused.value.message


def test_the_numbers_of_all_hold_for_each_and_its_own_come_on_top(
    trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--policies", "hai,hai/slice=4h", "--set", "slice=1h", "--json"]
    assert command(["compare", trace, "--nodes", "2", *words]) == 0
    made = answer(capsys)
    assert [each["policy"] for each in made["policies"]] == ["hai", "hai/slice=4h"]
    assert made["policies"][0]["suspensions"] >= made["policies"][1]["suspensions"]
    assert any("slice=1h" in assumption for assumption in made["assumptions"])


def test_a_page_alone_has_the_picture_in_it_and_leaves_no_other_file(trace: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "pages" / "report.html"
    page.parent.mkdir()
    assert command(["compare", trace, "--nodes", "4", "--policies", "fifo", "--html", str(page)]) == 0
    assert [file.name for file in page.parent.iterdir()] == ["report.html"]
    text = page.read_text()
    assert "<svg" in text
    assert "trace.jsonl on 4 nodes" in text
