"""`hai sim`: its verbs, and what it says when something is wrong."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tomllib
from argparse import Namespace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hai_client.cli.shared.context import Context
from hai_client.errors import HaiError, Invalid
from hai_client.wire.schema import TaskSummary
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.sim.engine import Engine, Stalled
from hai_scheduler.sim.simulate import Progress
from hai_scheduler.sim.snapshots import Recorded, to_json
from hai_scheduler.sim_cli import command
from hai_scheduler.sim_cli.progress import Ticker
from hai_scheduler.sim_cli.settings import rules_of
from unit.sim.jobs_kit import T0, a_job, a_setting

ROOT = Path(__file__).parents[3]


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """Forty jobs for four nodes."""
    path = str(tmp_path / "trace.jsonl")
    assert command(["generate", "--tasks", "40", "--load", "0.9", "--nodes", "4", "--seed", "5", "-o", path]) == 0
    return path


def answer(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)


# -- replay and compare -----------------------------------------------------------------------------


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


def test_a_number_by_its_name_of_an_earlier_release_is_taken_with_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    rules = rules_of("hai/worth=2", [])
    assert rules.policy == Policy(min_run_per_switch=2)
    assert capsys.readouterr().err == (
        "hai: worth is called min_run_per_switch now: the next release knows only that\n"
    )


# -- plan -------------------------------------------------------------------------------------------


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """One task runs and two of others wait."""
    engine = Engine(a_setting(), T0, jobs=[a_job(1, 5000), a_job(2, 10), a_job(3, 10, held=True)])
    engine.step()
    path = tmp_path / "snapshot.json"
    path.write_text(to_json(Recorded(snapshot=engine.snapshot())))
    return str(path)


def test_plan_says_why_every_task_waits(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["plan", snapshot]) == 0
    out = capsys.readouterr().out
    assert "Nothing is to be done." in out
    assert "Task 2 of user-2 waits: Needs 1 node but none is free" in out
    assert "Task 3 of user-3 waits: Held by its owner" in out
    assert "Time alone may change this at" in out


def test_plan_tries_other_numbers(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(Path(snapshot).read_text())
    made["snapshot"]["now"] = "2026-01-05T08:01:00Z"
    Path(snapshot).write_text(json.dumps(made))
    assert command(["plan", snapshot, "--set", "min_run=30s", "--set", "slice=30s", "--json"]) == 0
    decisions = answer(capsys)["decisions"]
    assert [(one["kind"], one["task_id"]) for one in decisions] == [("suspend", 1), ("keep", 2)]
    assert command(["plan", snapshot, "--set", "min_run=30s", "--set", "slice=30s"]) == 0
    assert "Task 1 is told to leave, for task 2: its turn was over" in capsys.readouterr().out


def test_plan_refuses_what_is_no_snapshot(trace: str) -> None:
    with pytest.raises(Invalid, match="it is not JSON"):
        command(["plan", trace])


# -- export -----------------------------------------------------------------------------------------


def a_summary(number: int, **fields: object) -> TaskSummary:
    at = datetime(2026, 1, 5, 8, number, tzinfo=UTC)
    defaults = {
        "id": number, "name": f"secret-{number}", "user": "alice", "state": "succeeded", "priority": "NORMAL",
        "group": "training", "nodes": 1, "submitted_at": at, "served_s": 100.0,
        "held": False, "node_names": (), "run_count": 1, "suspensions": 0, "message": "",
    }  # fmt: skip
    return TaskSummary(**{**defaults, **fields})


class Platform:
    """Just what `export` asks."""

    def __init__(self, *tasks: TaskSummary, admin: bool = True) -> None:
        self.found = tasks
        self.admin = admin
        self.asked: list[object] = []

    def me(self) -> Namespace:
        return Namespace(admin=self.admin)

    def tasks(self, **words: object) -> list[TaskSummary]:
        self.asked.append(words)
        return list(reversed(self.found))

    def task(self, number: int) -> Namespace:
        return Namespace(time_limit_s=3600.0 if number == 1 else None)


def exported(platform: Platform, monkeypatch: pytest.MonkeyPatch, capsys, *words: str) -> tuple[list[dict], str]:
    monkeypatch.setattr(Context, "client", platform)
    assert command(["export", *words]) == 0
    written = capsys.readouterr()
    return [json.loads(line) for line in written.out.splitlines()], written.err


def test_export_writes_what_has_run_without_names(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    platform = Platform(
        a_summary(1, nodes=2, user="zoe"),
        a_summary(2, served_s=0.0, state="queued"),
        a_summary(3, gpus=4, priority="AUTO", state="running", served_s=7.25),
        a_summary(4, user="zoe"),
    )
    (header, *jobs), said = exported(platform, monkeypatch, capsys)
    assert header["hai_trace"] == 1
    assert jobs[0] == {
        "submitted_at": "2026-01-05T08:01:00Z", "work_s": 100, "nodes": 2, "user": "user-1", "priority": "NORMAL",
    }  # fmt: skip
    assert (jobs[1]["gpus"], jobs[1]["priority"], jobs[1]["work_s"], jobs[1]["user"]) == (4, "AUTO", 7.25, "user-2")
    assert jobs[2]["user"] == "user-1"
    assert "secret" not in json.dumps(jobs)
    assert "alice" not in json.dumps(jobs)
    assert "3 tasks written, of everybody; 1 that never ran are left out; 1 have not ended" in said
    assert platform.asked == [{"user": "*", "group": None}]


def test_export_keeps_names_and_limits_when_it_is_asked_to(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    platform = Platform(a_summary(1), a_summary(2), admin=False)
    (_, *jobs), said = exported(platform, monkeypatch, capsys, "--names", "--limits", "--from", "0s", "--to", "1m")
    assert jobs == [
        {
            "submitted_at": "2026-01-05T08:01:00Z", "work_s": 100, "nodes": 1, "user": "alice", "priority": "NORMAL",
            "name": "secret-1", "time_limit_s": 3600,
        }
    ]  # fmt: skip
    assert platform.asked == [{"user": None, "group": None}]
    assert "all yours" in said


def test_export_without_anything_to_write_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "client", Platform(a_summary(1, served_s=0.0)))
    with pytest.raises(Invalid, match="none of 1 tasks has run"):
        command(["export"])


def test_what_is_exported_can_be_replayed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    monkeypatch.setattr(Context, "client", Platform(*(a_summary(number) for number in range(1, 9))))
    path = str(tmp_path / "history.jsonl")
    assert command(["export", "-o", path]) == 0
    assert command(["replay", path, "--nodes", "1", "--json"]) == 0
    assert answer(capsys)["tasks"] == 8


# -- around it --------------------------------------------------------------------------------------


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


def told(terminal: bool) -> str:
    times = iter([0.0, 0.1, 4.0, 20.0])
    file = io.StringIO()
    ticker = Ticker("hai", file, terminal=terminal, timer=lambda: next(times))
    for done in (0, 25, 50):
        ticker(Progress(done=done, jobs=100, now=T0))
    ticker.close()
    return file.getvalue()


def test_progress_says_how_far_it_is_and_how_long_it_takes() -> None:
    assert told(terminal=False) == (
        "hai: 25% of 100 jobs, at 2026-01-05 08:00, about 12 s left\n"
        "hai: 50% of 100 jobs, at 2026-01-05 08:00, about 20 s left\n"
    )
    assert told(terminal=True).endswith("about 20 s left\r\x1b[K")
    assert "\n" not in told(terminal=True)
