"""Each alert fires when it should and not when it should not, by Prometheus's own promtool; each has its page."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from docs.kit import ROOT
from kit.alert_cases import CASES, Case, promtool_tests, rules_here
from monitoring.alerts import ALERTS

RUNBOOKS = ROOT / "docs" / "runbooks"


def test_every_alert_has_its_cases_and_no_case_is_of_another() -> None:
    assert [case.alert for case in CASES] == [alert.name for alert in ALERTS]


def run(promtool: str, folder: Path, cases: tuple[Case, ...]) -> subprocess.CompletedProcess[str]:
    (folder / "alerts.json").write_text(json.dumps(rules_here()))
    (folder / "tests.json").write_text(json.dumps(promtool_tests("alerts.json", cases)))
    words = [promtool, "test", "rules", "tests.json"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_alerts_fire_when_they_should_and_not_when_they_should_not(promtool: str, tmp_path: Path) -> None:
    done = run(promtool, tmp_path, CASES)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", [CASES[0], CASES[-1]], ids=lambda case: case.alert)
def test_a_case_that_is_wrong_is_noticed(promtool: str, tmp_path: Path, case: Case) -> None:
    """Else the test above could not fail."""
    for wrong in (replace(case, fires=case.not_fires), replace(case, not_fires=case.fires)):
        assert run(promtool, tmp_path, (wrong,)).returncode != 0


def test_the_rules_are_valid(promtool: str, tmp_path: Path) -> None:
    file = tmp_path / "alerts.json"
    file.write_text(json.dumps(rules_here()))
    done = subprocess.run([promtool, "check", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ALERTS)} rules found" in done.stdout


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_has_a_page_that_says_what_it_means_where_to_look_and_what_to_do(alert) -> None:
    page = (RUNBOOKS / f"{alert.name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {alert.name}\n")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == ["What it means", "Where to look", "What to do"]
    assert alert.summary in page
    assert "```" in page.partition("## Where to look")[2].partition("## What to do")[0], "exact commands"


def test_no_page_is_of_an_alert_that_there_is_not() -> None:
    there = {page.stem for page in RUNBOOKS.glob("*.md")} - {"README"}
    assert there == {alert.name for alert in ALERTS}
