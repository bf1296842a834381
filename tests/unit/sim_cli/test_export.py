"""`hai sim export`: the platform's own tasks as a trace, without names unless they are asked for."""

from __future__ import annotations

import json
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hai_client.cli.shared.context import Context
from hai_client.errors import Invalid
from hai_client.wire.schema import TaskSummary
from hai_scheduler.sim_cli import command
from unit.sim_cli.answers import answer


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


@pytest.mark.parametrize(
    ("words", "minutes"),
    [
        ([], [1, 2, 3]),
        (["--from", "2026-01-05T08:02:00Z"], [2, 3]),
        (["--to", "2026-01-05T08:02:00Z"], [1]),
        (["--from", "1m", "--to", "2m"], [2]),
    ],
)
def test_a_window_is_of_times_or_of_offsets_from_the_first_task_that_ran(
    monkeypatch: pytest.MonkeyPatch, capsys, words: list[str], minutes: list[int]
) -> None:
    waits = a_summary(0, served_s=0.0, state="queued")
    platform = Platform(a_summary(3), a_summary(1), a_summary(2), waits)
    (_, *jobs), _ = exported(platform, monkeypatch, capsys, *words)
    assert [job["submitted_at"] for job in jobs] == [f"2026-01-05T08:{minute:02d}:00Z" for minute in minutes]


def test_tasks_of_one_moment_come_in_the_order_of_their_numbers(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    at = datetime(2026, 1, 5, 8, tzinfo=UTC)
    tasks = [a_summary(number, submitted_at=at, served_s=number) for number in (3, 1, 2)]
    (_, *jobs), said = exported(Platform(*tasks), monkeypatch, capsys)
    assert [job["work_s"] for job in jobs] == [1, 2, 3]
    assert "have not ended" not in said
    assert "never ran" not in said


def test_one_node_group_is_asked_for(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    platform = Platform(a_summary(1, group="dev"))
    (_, job), _ = exported(platform, monkeypatch, capsys, "--group", "dev")
    assert platform.asked == [{"user": "*", "group": "dev"}]
    assert job["group"] == "dev"


def test_where_it_cannot_be_written_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = Platform(a_summary(1))
    monkeypatch.setattr(Context, "client", platform)
    with pytest.raises(Invalid, match=r"--output: '/none/x\.jsonl' cannot be written"):
        command(["export", "-o", "/none/x.jsonl"])
    assert platform.asked == []


def test_nothing_in_the_window_names_what_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "client", Platform(a_summary(1), a_summary(2)))
    with pytest.raises(
        Invalid, match=r"none of 2 tasks has run and was submitted between --from and --to; choose another"
    ):
        command(["export", "--from", "2030-01-01"])
