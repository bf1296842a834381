"""The seed fixes what a chaos run does, and its report says what was seen."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from chaos import report
from chaos.invariants import CHECKS
from chaos.load import SHAPES, work
from chaos.processes import find, send
from chaos.rank import SAVING
from chaos.records import Records
from chaos.report import Outcome, Struck
from chaos.strikes import STRIKES, deal


def dealt(kind: str, seed: int, count: int, **more: frozenset[str]) -> list[tuple[str, float]]:
    """The names of the first `count` strikes, each with the first number of its dice."""
    return [(strike.name, dice.random()) for strike, dice in islice(deal(kind, seed, **more), count)]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_seed_fixes_the_strikes_and_each_is_dealt_as_often_as_it_says(kind: str) -> None:
    mine = [strike for strike in STRIKES if kind in strike.on]
    pack = sum(strike.share for strike in mine)
    assert dealt(kind, 1, 3 * pack) == dealt(kind, 1, 3 * pack) != dealt(kind, 2, 3 * pack)
    assert Counter(name for name, _ in dealt(kind, 1, 2 * pack)) == {strike.name: 2 * strike.share for strike in mine}


def test_what_is_left_out_is_not_dealt() -> None:
    others = frozenset(strike.name for strike in STRIKES) - {"Hub killed"}
    assert {name for name, _ in dealt("sqlite", 1, 9, without=others)} == {"Hub killed"}
    with pytest.raises(SystemExit, match="no strike is left for postgres"):
        next(deal("postgres", 1, others))


def test_a_seed_fixes_the_tasks(tmp_path: Path) -> None:
    some = [work(1, number, 5, tmp_path) for number in range(1, 200)]
    assert some == [work(1, number, 5, tmp_path) for number in range(1, 200)]
    assert {task.request.command[4] for task in some} == set(SHAPES) >= SAVING
    assert max(task.request.nodes for task in some) == 5
    assert len({task.name for task in some}) == len(some)
    plain = frozenset(SHAPES) - {"plain"}
    assert {work(1, n, 5, tmp_path, plain).request.command[4] for n in range(50)} == {"plain"}


def test_processes_are_found_by_the_folder_and_told_apart(tmp_path: Path) -> None:
    line = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
    with subprocess.Popen([*line, str(tmp_path)], stdout=subprocess.PIPE) as mine:
        assert mine.stdout is not None
        mine.stdout.readline()
        assert [(process.pid, process.role) for process in find(tmp_path)] == [(mine.pid, "other")]
        assert find(tmp_path / "another") == []
        assert send(mine.pid, signal.SIGKILL)
        mine.wait()
        assert not send(mine.pid, 0)


def test_the_report_names_violations_and_shares(tmp_path: Path) -> None:
    violations: dict[str, list[str]] = {check.name: [] for check in CHECKS}
    strikes = [Struck("Hub killed", 10.0 * n, 1.0, healthy_s=float(n), decision_s=None) for n in range(1, 21)]
    outcome = Outcome("sqlite", 7, 2.0, 5, Records(), violations, strikes)
    assert outcome.good
    violations["lost"] += ["t1 is away", "t1 is away", "t2 is away"]
    assert not outcome.good
    text = report.write(outcome, tmp_path / "made").read_text()
    assert "| lost | 3 |" in text
    assert "- 2 x t1 is away" in text
    assert "| Hub killed | 20 | 10.5 s | 20.0 s | 20.0 s |  |  | 1.0 |" in text
    assert json.loads((tmp_path / "made" / "report.json").read_text())["violations"]["lost"][2] == "t2 is away"
