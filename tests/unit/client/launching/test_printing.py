"""Where the output of the tasks of a step goes: one stream of whole lines, or files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hai_client.launching.layout import Layout
from hai_client.launching.part import StepPart
from hai_client.launching.printing import Printing


def a_part(tasks: int = 2, **fields: Any) -> StepPart:
    """The only node of a step with this many tasks."""
    env = {"HAI_TASK_ID": "41"}
    return StepPart(
        command=["true"], layout=Layout([0], [tasks]), index=0, addresses=["10.0.0.1"], step="0", env=env, **fields
    )


def print_all(part: StepPart, *, errors: bool = False) -> None:
    """Have each task write two lines, as its process would, and wait until they are passed on."""
    printing = Printing(part)
    ends = [printing.of_task(local) for local in range(part.tasks)]
    for local, (out, err) in enumerate(ends):
        target = err if errors else out
        assert target is not None
        os.write(target, f"task {local}\nhalf".encode())
    printing.close_ends()
    printing.begin()
    printing.finish()


def test_a_task_that_is_alone_writes_to_the_launchers_own_output() -> None:
    assert Printing(a_part(tasks=1)).of_task(0) == (None, None)


@pytest.mark.parametrize("errors", [False, True], ids=["output", "errors"])
def test_lines_of_several_tasks_are_labelled(capfd: pytest.CaptureFixture[str], errors: bool) -> None:
    print_all(a_part(tasks=2, label=True), errors=errors)
    shown = capfd.readouterr()
    lines = (shown.err if errors else shown.out).splitlines()
    assert sorted(lines) == ["0: half", "0: task 0", "1: half", "1: task 1"]
    assert (shown.out if errors else shown.err) == ""


def test_labels_have_the_width_of_the_largest_number(capfd: pytest.CaptureFixture[str]) -> None:
    print_all(a_part(tasks=11, label=True))
    assert {line.partition(":")[0] for line in capfd.readouterr().out.splitlines()} == {
        f"{number:02d}" for number in range(11)
    }


def test_each_task_writes_to_its_own_file_and_errors_go_with_it(tmp_path: Path) -> None:
    part = a_part(tasks=2, output="out-%t", cwd=str(tmp_path))
    printing = Printing(part)
    for local in range(2):
        out, err = printing.of_task(local)
        assert out == err
    printing.begin()
    print_all(part)
    assert [(tmp_path / f"out-{local}").read_text() for local in range(2)] == [
        f"task {local}\nhalf" for local in range(2)
    ]


def test_tasks_that_share_a_file_share_its_descriptor(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    part = a_part(tasks=2, output="out-%j", error="err-%t", cwd=str(folder))
    printing = Printing(part)
    (one, err), (other, other_err) = (printing.of_task(local) for local in range(2))
    assert one == other
    assert len({one, err, other_err}) == 3
    printing.begin()
    assert sorted(path.name for path in folder.iterdir()) == ["err-0", "err-1", "out-41"]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(one or 0, b"closed: only the tasks need it")


@pytest.mark.parametrize(("append", "kept"), [(False, ""), (True, "before\n")])
def test_a_file_is_replaced_or_goes_on(tmp_path: Path, append: bool, kept: str) -> None:
    (tmp_path / "out").write_text("before\n")
    part = a_part(tasks=1, output="out", cwd=str(tmp_path), append=append)
    print_all(part)
    assert (tmp_path / "out").read_text() == f"{kept}task 0\nhalf"


def test_a_file_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        Printing(a_part(output="file/out", cwd=str(tmp_path))).of_task(0)
