"""The log of a task as a text file."""

from __future__ import annotations

from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Run
from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.service.logs.download import text_of
from unit.service.logs.runs_kit import a_run

STAMP = b"2026-01-05T08:00:00.000001Z "


async def test_a_file_has_last_states_what_is_gone_and_as_much_as_was_there_at_its_beginning() -> None:
    texts = (b"\x1b[31mred\x1b[0m", b"10%\r", b"20%\r", b"30%", b"last")
    log = b"".join(STAMP + text + b"\n" for text in texts)
    asked = []

    async def read(run: Run, offset: int) -> LogChunk | None:
        if run.number == 1:
            return None
        asked.append(offset)
        start = max(offset, 7)
        # It grows while it is read.
        data = log[start - 7 : start + 73] or STAMP + b"later\n"
        data = data[: data.rfind(b"\n") + 1]
        return LogChunk(start=start, next=start + len(data), data=data, final=False, end=7 + len(log))

    runs = [a_run(1, ended=Reason.PREEMPTED), a_run(2, ended=None)]
    pieces = [piece async for piece in text_of(runs, read)]
    assert b"".join(pieces).decode().splitlines() == [
        "[hai] -- run 1 started on n1, n2 --",
        "[hai] -- no log of run 1 is kept --",
        "[hai] -- run 1 suspended at 08:00:00 UTC: a task of higher priority needed its nodes --",
        "[hai] -- run 2 started on n1, n2 --",
        "[hai] -- 7 bytes of the log of run 2 are no longer kept --",
        "\x1b[31mred\x1b[0m",
        "30%",
        "last",
    ]
    assert len(asked) > 2
    stamped = b"".join([piece async for piece in text_of(runs, read, run=2, times=True)]).splitlines()
    assert stamped[0] == b"2026-01-05T08:00:00.000000Z [hai] -- run 2 started on n1, n2 --"
    assert stamped[-1] == STAMP + b"last"
