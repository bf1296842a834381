"""Which process gets which signal: by the task's own, by the profile, or by what it catches."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from hai_client.linux.processes import Process
from hai_client.rank.notices import signals
from hai_client.rank.notices.signals import SignalRule
from unit.client.rank.rank_kit import a_process, a_spec, a_table, masks_of

WORKER, KERNEL, HELPER = 10, 11, 12
TABLE: dict[int, Process] = a_table(a_process(WORKER), a_process(KERNEL, WORKER), a_process(HELPER, WORKER, state="Z"))


def rule(folder: Path, profile: str, own: str | None = None) -> SignalRule:
    return SignalRule(a_spec(folder, profile=profile, signal=own), None)


@pytest.mark.parametrize(
    ("profile", "own", "number", "auto", "tells"),
    [
        ("auto", None, None, True, True),
        ("auto", "USR2", signal.SIGUSR2, False, True),
        ("sigterm", None, signal.SIGTERM, False, True),
        ("sigterm", "INT", signal.SIGINT, False, True),
        ("slurm", None, signal.SIGUSR1, False, True),
        ("slurm", "TERM", signal.SIGTERM, False, True),
        ("cooperative", None, None, False, False),
        ("cooperative", "USR1", signal.SIGUSR1, False, True),
        ("kill", None, None, False, False),
    ],
)
def test_the_tasks_own_signal_goes_before_that_of_the_profile(
    tmp_path: Path, profile: str, own: str | None, number: int | None, auto: bool, tells: bool
) -> None:
    found = rule(tmp_path, profile, own)
    assert (found.number, found.auto, found.tells) == (number, auto, tells)


def test_a_job_polls_from_the_moment_it_says_so(tmp_path: Path) -> None:
    found = rule(tmp_path, "auto")
    assert not found.polls()
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "polling").touch()
    assert found.polls()


@pytest.mark.parametrize("caught", [None, signal.SIGUSR1])
def test_with_auto_it_is_the_signal_that_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caught: int | None
) -> None:
    monkeypatch.setattr(signals, "best_signal", lambda pid: caught)
    monkeypatch.setattr(signals, "best_trap", lambda pid: caught)
    auto, sigterm = rule(tmp_path, "auto"), rule(tmp_path, "sigterm")
    assert (auto.signal_for(WORKER), auto.trap_of(WORKER)) == (caught, caught)
    assert sigterm.signal_for(WORKER) == signal.SIGTERM, "whatever is caught"


@pytest.mark.parametrize(
    ("profile", "traps", "found"),
    [
        ("sigterm", {signal.SIGTERM}, signal.SIGTERM),
        ("sigterm", {signal.SIGUSR1}, None),
        ("slurm", {signal.SIGUSR1}, signal.SIGUSR1),
        ("kill", {signal.SIGTERM}, None),
    ],
)
def test_a_shell_has_a_trap_only_for_the_signal_that_it_would_get(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str, traps: set[int], found: int | None
) -> None:
    monkeypatch.setattr(signals, "read_masks", masks_of({WORKER: traps}))
    assert rule(tmp_path, profile).trap_of(WORKER) == found


class Kinds:
    """Which processes catch a signal, and what they run."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, caught: set[int], notebook: bool, ray: bool, goes: bool = False
    ) -> None:
        self.asked: list[list[int]] = []
        monkeypatch.setattr(signals, "best_signal", lambda pid: signal.SIGTERM if pid in caught else None)
        monkeypatch.setattr(signals, "read_masks", masks_of({pid: {signal.SIGTERM} for pid in caught}))
        monkeypatch.setattr(signals, "only_goes", lambda pid: pid == WORKER and goes)
        monkeypatch.setattr(signals, "runs_notebook", lambda pid: notebook and pid == WORKER)

        def runs_ray(pids: list[int]) -> bool:
            self.asked.append(pids)
            return ray

        monkeypatch.setattr(signals, "runs_ray", runs_ray)


@pytest.mark.parametrize(
    ("profile", "caught", "notebook", "ray", "judged", "is_caught", "driver"),
    [
        ("auto", {WORKER}, False, False, [WORKER], True, False),
        ("auto", set(), False, False, [WORKER], False, False),
        ("auto", {WORKER}, True, False, [KERNEL], False, False),
        ("auto", {WORKER, KERNEL}, True, False, [KERNEL], True, False),
        ("auto", {WORKER}, False, True, [], False, True),
        # A program that starts a Ray and catches nothing is a worker like others.
        ("auto", set(), False, True, [WORKER], False, False),
        ("sigterm", {WORKER}, True, False, [WORKER], True, False),
        ("sigterm", {WORKER}, False, True, [WORKER], True, False),
    ],
)
def test_whose_handlers_count(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    profile: str,
    caught: set[int],
    notebook: bool,
    ray: bool,
    judged: list[int],
    is_caught: bool,
    driver: bool,
) -> None:
    kinds = Kinds(monkeypatch, caught=caught, notebook=notebook, ray=ray)
    found = rule(tmp_path, profile)
    assert found.judged(TABLE, WORKER) == judged
    assert found.is_caught(TABLE, WORKER) is is_caught
    assert found.is_driver(TABLE, WORKER) is driver
    assert all(pids == [KERNEL] for pids in kinds.asked), "children that have ended do not count"


@pytest.mark.parametrize(("caught", "judged"), [({WORKER}, []), ({WORKER, KERNEL}, [WORKER]), (set(), [])])
def test_a_runtime_that_only_goes_is_left_alone_unless_what_it_has_started_catches_a_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caught: set[int], judged: list[int]
) -> None:
    Kinds(monkeypatch, caught=caught, notebook=False, ray=False, goes=True)
    assert rule(tmp_path, "auto").judged(TABLE, WORKER) == judged
    assert rule(tmp_path, "sigterm").judged(TABLE, WORKER) == [WORKER]


@pytest.mark.parametrize(("own", "patient"), [(None, True), ("USR1", False)])
def test_under_slurms_profile_one_without_a_handler_is_left_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str | None, patient: bool
) -> None:
    monkeypatch.setattr(signals, "read_masks", masks_of({WORKER: {signal.SIGTERM}}))
    found = rule(tmp_path, "slurm", own)
    assert (found.patient, found.is_caught(TABLE, WORKER)) == (patient, False)
    assert rule(tmp_path, "auto").patient
    assert not rule(tmp_path, "sigterm").patient


def test_the_tasks_own_signal_makes_no_driver_of_a_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Kinds(monkeypatch, caught={WORKER}, notebook=False, ray=True)
    found = rule(tmp_path, "auto", "USR1")
    assert not found.is_driver(TABLE, WORKER)
    assert found.judged(TABLE, WORKER) == [WORKER]
