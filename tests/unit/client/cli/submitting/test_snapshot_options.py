"""When a submission takes a snapshot of its folder, and what becomes of it where it cannot."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output
from hai_client.cli.submitting import snapshot_options
from hai_client.cli.submitting.snapshot_options import with_snapshot
from hai_client.errors import Invalid
from hai_client.snapshots.machine import machine_id
from hai_client.wire.schema import TaskRequest
from hai_client.wire.storage import SnapshotRules, SnapshotState

HERE, ELSEWHERE = machine_id(), "another machine"


class FakeClient:
    """A service that has everything."""

    def __init__(self, mode: str, machine: str | None, files: int = 100) -> None:
        self.rules = SnapshotRules(mode=mode, machine=machine, max_files=files, max_bytes=10**6, max_file_bytes=10**6)
        self.asked: list[str] = []

    def snapshot_rules(self, group: str) -> SnapshotRules:
        self.asked.append(group)
        return self.rules

    def snapshot_state(self, digest: str) -> SnapshotState:
        return SnapshotState(digest=digest, files=1, size=1, complete=True, missing=())


def request(folder: Path, **more: Any) -> TaskRequest:
    return TaskRequest(name="t", command=("true",), cwd=str(folder), **more)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/train.py").write_text("x")
    return tmp_path / "code"


def context(client: object) -> Context:
    return Context(out=Output(stdout=io.StringIO(), stderr=io.StringIO()), _client=client)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mode", "machine", "wanted", "inside", "taken"),
    [
        ("offered", HERE, None, False, False),
        ("offered", HERE, True, False, True),
        ("offered", ELSEWHERE, None, False, True),
        ("offered", None, None, False, True),
        ("offered", ELSEWHERE, False, False, False),
        # A server of the Hub and a task on Kubernetes see what tasks see.
        ("offered", None, None, True, False),
        ("required", HERE, None, True, True),
        ("required", HERE, False, False, False),
        ("off", ELSEWHERE, None, False, False),
    ],
)
def test_when_a_snapshot_is_taken(
    code: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    machine: str | None,
    wanted: bool | None,
    inside: bool,
    taken: bool,
) -> None:
    if inside:
        monkeypatch.setenv("JUPYTERHUB_USER", "ann")
    found = with_snapshot(context(FakeClient(mode, machine)), request(code), wanted)
    assert (found.snapshot is not None) == taken


def test_an_experiment_file_can_ask_for_it(code: Path) -> None:
    found = with_snapshot(context(FakeClient("offered", HERE)), request(code, take_snapshot=True), None)
    assert (found.snapshot is not None, found.take_snapshot) == (True, None)
    again = with_snapshot(context(FakeClient("offered", HERE)), request(code, take_snapshot=True), False)
    assert (again.snapshot, again.take_snapshot) == (None, None)


def test_a_group_without_snapshots_refuses_the_option_alone(code: Path) -> None:
    with pytest.raises(Invalid, match="takes no snapshots"):
        with_snapshot(context(FakeClient("off", ELSEWHERE)), request(code), True)


def test_a_folder_that_is_too_large_is_refused_with_the_way_out(code: Path) -> None:
    (code / "b.py").write_text("y")
    with pytest.raises(Invalid, match=r"more than 1 files.*; or submit with --no-snapshot"):
        with_snapshot(context(FakeClient("offered", ELSEWHERE, files=1)), request(code), None)
    with pytest.raises(Invalid) as asked:
        with_snapshot(context(FakeClient("offered", ELSEWHERE, files=1)), request(code), True)
    assert "--no-snapshot" not in asked.value.message


def test_what_was_taken_is_said(code: Path) -> None:
    (code / "out").symlink_to("/etc")
    ctx = context(FakeClient("offered", ELSEWHERE))
    found = with_snapshot(ctx, request(code), None)
    assert found.snapshot is not None
    said, notes = ctx.out.stdout.getvalue(), ctx.out.stderr.getvalue()  # type: ignore[attr-defined]
    assert said == f"snapshot {found.snapshot.digest[:12]}: 1 file, none sent\n"
    assert "out is a link to /etc and is left out" in notes
    quiet = context(FakeClient("offered", ELSEWHERE))
    with_snapshot(quiet, request(code), None, quiet=True)
    assert quiet.out.stdout.getvalue() == ""  # type: ignore[attr-defined]


def test_a_machine_is_known_without_telling_of_it() -> None:
    assert snapshot_options.machine_id() == machine_id()
    assert len(HERE) == 32


def test_a_long_upload_shows_how_far_it_is_on_a_terminal(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hai_client.cli.shared import progress

    monkeypatch.setattr(progress, "AFTER_S", 0.0)
    ctx = context(FakeClient("offered", ELSEWHERE))
    ctx.out.watched = True
    with_snapshot(ctx, request(code), None)
    notes = ctx.out.stderr.getvalue()  # type: ignore[attr-defined]
    assert notes.startswith("\rhai: snapshot: reading 1 file\r")
    assert notes.endswith("\r"), "the line is gone at the end"
