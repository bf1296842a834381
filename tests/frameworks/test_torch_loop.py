"""`hai_client.torch.Loop` in one process: what it keeps, restores and refuses."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hai_client.job import Job  # noqa: E402
from hai_client.torch import Loop  # noqa: E402

NOTICE = {
    "schema": 1,
    "kind": "suspend",
    "reason": "turn_over",
    "message": "its turn was over",
    "at": "2126-01-01T00:00:00Z",
    "deadline": "2126-01-01T00:02:00Z",
    "revision": 1,
}


class Clock:
    """Time that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    (tmp_path / "runtime/reports").mkdir(parents=True)
    return tmp_path / "runtime"


@pytest.fixture
def make(tmp_path: Path, runtime: Path):
    """A loop of a task with the parts of a training."""

    def build(**more: Any) -> Loop:
        environ = {"HAI_TASK_ID": "1", "HAI_RUNTIME_DIR": str(runtime), "HAI_CHECKPOINT_DIR": str(tmp_path / "ckpt")}
        clock = more.pop("clock", Clock())
        return Loop(job=Job(environ, clock=clock), clock=clock, **more)

    return build


def training() -> dict[str, Any]:
    torch.manual_seed(1)
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters())
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 4])
    return {"model": model, "optimizer": optimizer, "scheduler": scheduler}


def one_step(parts: dict[str, Any]) -> list[float]:
    parts["optimizer"].zero_grad()
    parts["model"](torch.randn(3, 2)).sum().backward()
    parts["optimizer"].step()
    parts["scheduler"].step()
    return [random.random(), *parts["model"].weight.detach().flatten().tolist()]


def checkpoints(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "ckpt").glob("step-*"))


def reports(runtime: Path) -> list[str]:
    return [json.loads(path.read_text())["kind"] for path in sorted((runtime / "reports").glob("*.json"))]


def test_it_goes_on_where_it_was_told_to_leave_to_the_last_digit(make, tmp_path: Path, runtime: Path) -> None:
    def train(until: int | None) -> list[list[float]]:
        parts, extra, clock = training(), {"seen": 0}, Clock()
        random.seed(1)
        found = []
        with make(**parts, extra=extra, clock=clock) as loop:
            for step in loop.steps(6):
                clock.now += 1
                assert extra["seen"] == step
                extra["seen"] += 1
                found.append(one_step(parts))
                if step == until:
                    (runtime / "notice.json").write_text(json.dumps(NOTICE))
        return found

    with pytest.raises(SystemExit) as left:
        train(2)
    assert left.value.code == 0
    assert checkpoints(tmp_path) == ["step-00000003"]
    assert reports(runtime) == ["saved", "done"]
    (runtime / "notice.json").unlink()
    resumed = train(None)
    assert len(resumed) == 3
    for path in (tmp_path / "ckpt").iterdir():
        path.rename(tmp_path / path.name)
    first = train(None)
    assert first[3:] == resumed
    assert checkpoints(tmp_path) == ["step-00000006"]


def test_it_saves_every_so_often_and_keeps_the_newest(make, tmp_path: Path, runtime: Path) -> None:
    clock = Clock()
    with make(**training(), every_s=10, keep=2, clock=clock) as loop:
        for _ in loop.steps(8):
            clock.now += 5
    assert checkpoints(tmp_path) == ["step-00000006", "step-00000008"]
    assert reports(runtime) == ["saved"] * 4


def test_a_checkpoint_that_cannot_be_read_is_put_aside_for_the_one_before(make, tmp_path: Path, capsys) -> None:
    with make(**training(), keep=3) as loop:
        for step in loop.steps(4):
            if step in (1, 3):
                loop.save()
    newest = tmp_path / "ckpt" / checkpoints(tmp_path)[-1] / "state.pt"
    newest.write_bytes(newest.read_bytes()[:100])
    with make(**training()) as loop:
        assert loop.resumed_at == loop.step == 3
    assert "step-00000004 is put aside, it cannot be read" in capsys.readouterr().err
    assert checkpoints(tmp_path) == ["step-00000001", "step-00000003"]


def test_what_is_done_already_is_not_done_again(make) -> None:
    for expected in (3, 0):
        with make(**training()) as loop:
            assert len(list(loop.steps(3))) == expected


def test_after_an_error_nothing_is_saved(make, tmp_path: Path) -> None:
    loop = make(**training())
    with pytest.raises(ZeroDivisionError), loop:
        next(loop.steps(3)) / 0
    assert not (tmp_path / "ckpt").exists()


class Strange:
    def __init__(self, value: Any) -> None:
        self.value = value

    def state_dict(self) -> dict[str, Any]:
        return {"deep": [self.value]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.value = state["deep"][0]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"sampler": object()}, "sampler: object has no state_dict"),
        ({"part": Strange(Path("x"))}, r"parts\.part\.deep: \w*Path cannot be kept"),
        ({"extra": {"function": print}}, "extra.function: builtin_function_or_method cannot be kept"),
    ],
)
def test_what_could_not_be_read_again_is_refused_at_the_start(make, parts, text) -> None:
    with pytest.raises(TypeError, match=text), make(**parts):
        raise AssertionError


def test_other_parts_than_those_of_the_checkpoint_are_refused(make) -> None:
    with make(**training()) as loop:
        list(loop.steps(1))
    with pytest.raises(RuntimeError, match="holds model, optimizer, scheduler, and the loop has other"):
        make(other=torch.nn.Linear(2, 2)).__enter__()


@pytest.mark.parametrize(("more", "text"), [({"every_s": 0}, "every_s is 0"), ({"keep": 0}, "keep is 0")])
def test_senseless_numbers_are_refused(make, more, text) -> None:
    with pytest.raises(ValueError, match=text):
        make(**more)
