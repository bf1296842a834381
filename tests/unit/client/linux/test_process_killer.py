"""Who gets SIGTERM at the deadline, and who is left to its save until SIGKILL."""

from __future__ import annotations

import os
import signal

import pytest

from hai_client.linux import process_killer
from hai_client.linux.process_killer import ProcessKiller
from unit.client.rank.rank_kit import a_process, a_table, masks_of, note_signals

ME, SHELL, SAVES, OTHER = os.getpid(), 20, 21, 22


@pytest.mark.parametrize(
    ("told", "ended", "torn"), [((), {SHELL, SAVES, OTHER}, [SHELL, OTHER]), ((SAVES,), {OTHER}, [OTHER])]
)
def test_one_that_was_told_by_sigterm_gets_no_second_one_nor_does_what_is_above_it(
    monkeypatch: pytest.MonkeyPatch, told: tuple[int, ...], ended: set[int], torn: list[int]
) -> None:
    table = a_table(a_process(ME), a_process(SHELL, ME), a_process(SAVES, SHELL), a_process(OTHER, SHELL))
    monkeypatch.setattr(process_killer, "read_table", lambda: table)
    monkeypatch.setattr(process_killer, "read_masks", masks_of({SAVES: {signal.SIGTERM}}))
    sent = note_signals(monkeypatch, process_killer)
    killed: list[int] = []
    monkeypatch.setattr(process_killer, "signal_below", lambda _, number: killed.append(number))
    tears: list[list[int]] = []
    killer = ProcessKiller(10.0, tears.append, told)
    killer.step(0.0)
    killer.step(9.9)
    assert {pid for pid, number in sent if number == signal.SIGTERM} == ended
    assert {pid for pid, number in sent if number == signal.SIGCONT} == {SHELL, SAVES, OTHER}
    assert (tears, killed) == ([torn], [])
    killer.step(10.0)
    assert killed == [signal.SIGKILL]
    assert tears[-1] == [SHELL, SAVES, OTHER]
