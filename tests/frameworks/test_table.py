"""The page on frameworks says what the suite tries, no more and no less; and so does the README."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from frameworks import table
from frameworks.cases import CASES, ENDED, RESUMES, SAVED, SCRIPTS, UNKNOWN, WORD, Case

ROOT = Path(__file__).parents[2]
PAGE = table.PAGE.read_text(encoding="utf-8")
#: The heading above the recipes that no case proves.
BY_HAND = "## Recipes that were tried by hand"
README = (ROOT / "README.md").read_text(encoding="utf-8")
BY_NAME = {case.name: case for case in CASES}
#: What the README says that needs no line, and the cases that prove it.
PROOFS = {
    "loops of PyTorch": ("plain-loop", "watched-loop", "active-venv", "handler", "in-place"),
    "torchrun": ("torchrun",),
    "Hugging Face Trainer": ("hf-trainer", "hf-trainer-jit"),
    "Accelerate": ("accelerate",),
    "Ray Train": ("ray",),
    "notebooks": ("notebook", "notebook-file"),
    "shell scripts": ("stages",),
    "Lightning on nodes and devices": ("lightning", "lightning-2x2"),
    "JAX": ("jax-slurm",),
    "batch scripts": ("lightning-sbatch",),
    "`mpirun`": ("mpi-sbatch",),
    "submitit": ("submitit",),
}


def cells() -> list[list[str]]:
    """The table of the page, without its head."""
    lines = table.within(PAGE).splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def locked() -> dict[str, str]:
    """Versions by name."""
    text = "".join(lock.read_text() for lock in Path(__file__).parent.glob("*.lock"))
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([A-Za-z0-9.]+)", text, re.MULTILINE))


def test_the_table_names_exactly_the_cases_of_the_suite() -> None:
    assert [row[0] for row in cells()] == [case.title for case in CASES]
    assert len(BY_NAME) == len({case.title for case in CASES}) == len(CASES)


def test_the_table_was_made_with_what_is_locked() -> None:
    for case, row in zip(CASES, cells(), strict=True):
        assert row[1] == (", ".join(f"{name} {locked()[name]}" for name in case.packages) or "-")


def test_the_table_says_of_each_case_what_is_lacking() -> None:
    for case, row in zip(CASES, cells(), strict=True):
        for check, cell in ((RESUMES, row[2]), (WORD, row[3])):
            lacking = case.missing.get(check)
            assert cell.startswith("not yet") is (lacking is not None), row
            assert lacking is None or cell == f"not yet: {lacking}"


def test_the_table_tells_what_is_left_of_leaving_after_the_saving() -> None:
    for row in cells():
        leaves, saving, after = (float(cell.removesuffix(" s")) for cell in row[4:])
        assert after == pytest.approx(leaves - saving, abs=0.11), row


def test_every_training_that_the_page_shows_is_one_of_the_suite() -> None:
    shown = re.findall(r"^hai submit (.*)$", PAGE.partition(BY_HAND)[0], re.MULTILINE)
    assert len(shown) > 5
    assert {tuple(shlex.split(line)) for line in shown} <= {tuple(shlex.split(case.submit)) for case in CASES}


def test_what_was_tried_by_hand_stands_apart_and_its_scripts_are_there() -> None:
    _, heading, recipes = PAGE.partition(BY_HAND)
    assert heading
    shown = {
        word.strip("'") for line in re.findall(r"^hai submit (.*)$", recipes, re.MULTILINE) for word in line.split()
    }
    scripts = {file.name for file in SCRIPTS.with_name("by_hand").iterdir() if file.is_file()}
    assert {word for word in shown if word.endswith((".py", ".json"))} == scripts


def test_every_training_that_a_case_starts_is_there_and_every_one_there_is_started() -> None:
    started = {word for case in CASES for word in shlex.split(case.submit + " " + case.shell)}
    called = "".join(file.read_text() for file in SCRIPTS.iterdir() if file.suffix in (".sh", ".sbatch"))
    started |= set(called.split())
    # These are not interrupted: `test_failures.py` and `test_profiles.py` start them.
    others = {"pace.py", "ddp_fails.py", "plain_ddp.py"}
    assert {file.name for file in SCRIPTS.iterdir() if file.is_file()} - started == others


def test_the_readme_promises_nothing_that_no_case_proves() -> None:
    promised = re.search(r"^\| your code .*?\n\n", README, re.MULTILINE | re.DOTALL)
    assert promised is not None
    rows = [line for line in promised[0].splitlines() if "| 0 |" in line]
    names = [name.strip() for line in rows for name in re.split(r"[:;]", line.split("|")[1])[-1].split(" · ")]
    assert sorted(names) == sorted(PROOFS)
    for cases in PROOFS.values():
        assert [name for name in cases if BY_NAME[name].missing] == []


def found(**given: Any) -> dict[str, Any]:
    return {"versions": {"torch": "2.13.0"}, "passed": [RESUMES, WORD], "leave_s": 1.0, "job_s": 0.2} | given


@pytest.mark.parametrize(("left", "words"), [(SAVED, "saved"), (UNKNOWN, "left by itself"), (ENDED, "ended")])
def test_a_row_tells_what_was_seen(left: str, words: str) -> None:
    row = table.row(Case(name="x", title="X"), found(left=left))
    assert row[:3] == ("X", "torch 2.13.0", "yes")
    assert words in row[3]
    assert row[4:] == ("1.0 s", "0.2 s", "0.8 s")


def test_a_row_tells_what_failed_and_what_is_lacking() -> None:
    case = Case(name="x", title="X", missing={WORD: "a part"})
    assert table.row(case, found(left=SAVED, passed=[RESUMES]))[3] == "not yet: a part"
    assert table.row(case, found(left=SAVED, passed=[]))[2] == "not yet: it failed"
    assert table.row(Case(name="x", title="X", from_start=True), found(left=UNKNOWN))[2] == "begins again"


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="put them back"):
        table.within("| way |\n")


def test_no_times_are_taken_of_a_run_whose_pythons_end_sooner_than_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "frameworks.json"
    results.write_text('{"cases": {"handler": {"short_ends": true}}}')
    monkeypatch.setattr(table, "RESULTS", results)
    assert table.main() == 1
    assert "run make test-frameworks" in capsys.readouterr().err
