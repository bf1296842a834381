"""`hai sim`: its verbs, and what it says when something is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from datetime import timedelta
from pathlib import Path

import pytest

from hai_client.errors import HaiError, Invalid
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.sim.engine import Engine, Stalled
from hai_scheduler.sim_cli import command
from hai_scheduler.sim_cli.settings import rules_of
from unit.sim_cli.answers import answer

ROOT = Path(__file__).parents[3]


def test_replay_prints_the_summary_of_the_design(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["replay", trace, "--nodes", "4", "--json"]) == 0
    made = answer(capsys)
    assert set(made) >= {
        "tasks", "nodes", "load", "policy", "makespan_s", "occupancy", "useful", "completion_s", "queue_s",
        "suspensions", "suspensions_per_task_max", "lost_node_s", "users_slowdown_jain", "plan_ms", "ticks",
        "busy_occupancy", "busy_useful", "users_slowdown_max_over_median", "assumptions",
    }  # fmt: skip
    assert (made["tasks"], made["nodes"], made["policy"]) == (40, 4, "hai")
    assert made["load"] == pytest.approx(0.9, abs=0.01)


def test_the_same_seed_gives_the_same_figures(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    def once() -> dict:
        words = ["replay", trace, "--nodes", "4", "--json", "--fail", "fireflyer", "--fail-scale", "300", "--seed", "3"]
        assert command(words) == 0
        return {**answer(capsys), "plan_ms": None}

    first = once()
    assert first == once()
    assert first["failures"] > 0
    assert any("Fire-Flyer: arXiv 2408.14158" in note for note in first["assumptions"])


def test_numbers_of_the_policy_can_be_tried(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["replay", trace, "--nodes", "2", "--json"]) == 0
    usual = answer(capsys)
    words = ["--set", "slice=4h", "--set", "min_run=4h", "--set", "long_after=8h"]
    assert command(["replay", trace, "--nodes", "2", "--json", *words]) == 0
    patient = answer(capsys)
    assert patient["suspensions"] < usual["suspensions"]
    assert "policy numbers that are not the defaults: slice=4h, min_run=4h, long_after=8h" in patient["assumptions"]


def test_a_timeline_is_written_beside_the_answer(trace: str, tmp_path: Path, capsys) -> None:
    path = tmp_path / "timeline.csv"
    assert command(["replay", trace, "--nodes", "4", "--timeline", str(path)]) == 0
    assert path.read_text().startswith("time,held_nodes")
    assert "occupancy while tasks wait" in capsys.readouterr().out
    assert sorted(file.name for file in tmp_path.iterdir()) == ["timeline.csv", "trace.jsonl"]


BAD_WORDS = {
    "no nodes": ([], "--nodes: missing"),
    "no node at all": (["--nodes", "0"], "nodes: '0'"),
    "unknown number": (["--nodes", "4", "--set", "minrun=5m"], "'minrun' is not a policy number: use min_run"),
    "no length": (["--nodes", "4", "--set", "min_run=soon"], "min_run: 'soon' is not a length of time"),
    "no assignment": (["--nodes", "4", "--set", "min_run"], "is not NAME=VALUE"),
    "min_run above slice": (["--nodes", "4", "--set", "min_run=2h"], "slice is 0:30:00, below min_run"),
    "unknown policy": (["--nodes", "4", "--policy", "lottery"], "invalid choice: 'lottery'"),
    "no time": (["--nodes", "4", "--from", "soon"], "from: 'soon' is neither a time nor a length of time"),
    "no load": (["--nodes", "4", "--fail-scale", "0"], "fail-scale: '0' is not a number above 0"),
    "no tick": (["--nodes", "4", "--tick", "0s"], "tick: '0s' is too short"),
    "empty window": (["--nodes", "4", "--from", "2030-01-01"], "none of its 40 jobs is chosen"),
    "no folder": (["--nodes", "4", "--timeline", "/none/x.csv"], "--timeline: '/none/x.csv' cannot be written"),
}


@pytest.mark.parametrize(("words", "message"), BAD_WORDS.values(), ids=BAD_WORDS)
def test_wrong_words_are_refused_in_one_line(trace: str, words: list[str], message: str) -> None:
    with pytest.raises(Invalid) as refused:
        command(["replay", trace, *words])
    assert message in refused.value.message
    assert "\n" not in refused.value.message


def test_a_bad_trace_is_refused_with_exit_status_two(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-01,-1,1,1,a\n")
    with pytest.raises(Invalid, match=r"bad\.csv, line 2: duration is '-1'") as refused:
        command(["replay", str(tmp_path / "bad.csv"), "--format", "philly", "--nodes", "4"])
    assert refused.value.exit_code == 2


def test_rules_that_stall_are_a_failure_and_not_wrong_input(trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stall(_engine: Engine) -> bool:
        raise Stalled("no task has ended")

    monkeypatch.setattr(Engine, "step", stall)
    with pytest.raises(HaiError, match="no task has ended") as refused:
        command(["replay", trace, "--nodes", "4"])
    assert refused.value.exit_code == 1


def test_a_day_of_to_counts_whole_and_offsets_count_from_the_first(trace: str, capsys) -> None:
    whole = len(Path(trace).read_text().splitlines()) - 1
    for words, count in (["--to", "2024-01-01"], whole), (["--from", "0s", "--to", "0s"], None):
        if count is None:
            with pytest.raises(Invalid, match="none of its"):
                command(["replay", trace, "--nodes", "4", *words])
        else:
            assert command(["replay", trace, "--nodes", "4", "--json", *words]) == 0
            assert answer(capsys)["tasks"] <= count


def test_rules_have_numbers_of_their_own_on_top_of_the_common_ones() -> None:
    rules = rules_of("hai/slice=2h", [("slice", "1h"), ("min_run_per_switch", "5")])
    assert rules.policy == Policy(slice=timedelta(hours=2), min_run_per_switch=5)
    assert rules.name == "hai/slice=2h"


def test_the_entry_point_is_declared_and_loads_nothing_that_works() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["hai.commands"]["sim"] == "hai_scheduler.sim_cli:command"
    assert any(line.startswith("matplotlib") for line in project["optional-dependencies"]["sim"])
    code = (
        "import sys; from hai_scheduler.sim_cli import app; "
        "print([name for name in sys.modules if name.startswith(('hai_scheduler.core', 'hai_scheduler.sim.', "
        "'matplotlib', 'pydantic', 'sqlalchemy', 'tornado'))])"
    )
    path = [str(ROOT / part) for part in ("client", "scheduler_service")]
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": ":".join(path)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_simulating_needs_no_other_package(trace: str) -> None:
    code = "import sys; from hai_scheduler.sim_cli import command; "
    code += f"sys.exit(command(['replay', {trace!r}, '--nodes', '4', '--json']))"
    path = [str(ROOT / part) for part in ("client", "scheduler_service")]
    alone = [sys.executable, "-S", "-c", code]  # -S leaves out what is installed
    done = subprocess.run(alone, env={"PYTHONPATH": ":".join(path)}, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["tasks"] == 40


def test_every_option_is_on_the_page() -> None:
    from hai_client.cli.shared.parser import build
    from hai_scheduler.sim_cli.app import COMMAND

    (group,) = [action for action in build(COMMAND)._actions if isinstance(action.choices, dict)]
    page = (ROOT / "docs" / "simulator.md").read_text()
    for verb, parser in group.choices.items():
        assert f"hai sim {verb}" in page
        for action in parser._actions:
            for option in action.option_strings:
                assert option in ("-h", "--help", "--url") or f"`{option}" in page or f" {option} " in page, option
