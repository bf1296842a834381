"""Logs on a volume that the service and the pods share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hai_scheduler.adapters.kubernetes.shared_logs import SharedLogs
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Absent
from hai_scheduler.worker.__main__ import read_place

RUN = RunId("41.2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rank = tmp_path / "41.2" / "0"
    rank.mkdir(parents=True)
    return rank


async def test_a_log_is_read_where_the_rank_writes_it(tmp_path: Path, folder: Path) -> None:
    (folder / f"{0:020d}.log").write_bytes(b"one\ntwo\n")
    chunk = await SharedLogs(tmp_path).read(RUN, 0, offset=4, limit=100, ended=True)
    assert (chunk.start, chunk.data, chunk.final) == (4, b"two\n", True)


async def test_a_worker_process_reads_it_there_too(tmp_path: Path, folder: Path) -> None:
    (folder / f"{0:020d}.log").write_bytes(b"one\ntwo\n")
    place = SharedLogs(tmp_path).place(RUN)
    assert read_place(place, 0, 4, 100).data == b"two\n"
    assert not place.own, "what belongs to users is not given other rights"
    with pytest.raises(Absent):
        read_place(place, 1, 0, 100)


@pytest.mark.parametrize(("run_id", "rank"), [("41.2", 1), ("41.3", 0), ("../41", 0)])
async def test_what_was_never_kept_is_not_found(tmp_path: Path, folder: Path, run_id: str, rank: int) -> None:
    with pytest.raises(Absent):
        await SharedLogs(tmp_path).read(RunId(run_id), rank, offset=0, limit=100, ended=True)


async def test_a_forgotten_log_is_gone(tmp_path: Path, folder: Path) -> None:
    await SharedLogs(tmp_path).forget(RUN)
    await SharedLogs(tmp_path).forget(RUN)
    assert not (tmp_path / "41.2").exists()


@pytest.mark.parametrize("kind", ["link", "pipe", "odd name"])
async def test_what_a_job_puts_beside_its_log_reads_nothing_else_and_hangs_nothing(
    tmp_path: Path, folder: Path, kind: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("sesame\n")
    part = folder / f"{0:020d}.log"
    if kind == "link":
        part.symlink_to(secret)
    elif kind == "pipe":
        os.mkfifo(part)
    else:
        (folder / "notes.log").write_text("sesame\n")
    chunk = await SharedLogs(tmp_path).read(RUN, 0, offset=0, limit=100, ended=True)
    assert chunk.data == b""
