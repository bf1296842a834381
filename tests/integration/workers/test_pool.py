"""Orders in a real worker process: the same answers, in turn for all users, ended when the client has gone."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from hai_scheduler.adapters.shared.log_parts import read_log
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import TaskSpec
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.logs import LogPlace
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.computing.workers import Here
from hai_scheduler.service.logs.lines import Hits
from hai_scheduler.service.shared.errors import Unavailable
from hai_scheduler.service.shared.orders import ExperimentFaults, ExperimentOrder, RunLog, SearchOrder, WhatIfOrder
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.store.store import open_reader, open_store
from hai_scheduler.worker.pool import ProcessWorkers
from integration.workers.kit import FACTS, children, endless, short
from kit.builders import T0, a_task, at
from kit.databases import empty_postgres, postgres_url, sqlite_url
from kit.waiting import until

EXPERIMENT = """
version: 2
name: train
spec: {workspace: /w, entrypoint: train.py}
resource: {node_count: 2}
"""


async def test_the_answers_are_those_of_this_process(workers, store) -> None:
    here = Here(store)
    orders = [
        (short(1), FACTS),
        (replace(short(7), hypothetical=True, groups=frozenset({"ml"})), FACTS),
        (WhatIfOrder(task=a_task(200, nodes=2), now=at(60), most_plans=4), FACTS),
        (ExperimentOrder(text=EXPERIMENT), None),
        (ExperimentOrder(text="version: 3\nname: [1]"), None),
    ]
    found = [await workers.do("ann", *order) for order in orders]
    assert found == [await here.do("ann", *order) for order in orders]
    assert isinstance(found[3], Submission)
    assert isinstance(found[4], ExperimentFaults)


async def test_it_sees_what_has_been_written_since(workers, store) -> None:
    before = await workers.do("ann", replace(short(), hypothetical=True), FACTS)
    async with store.write() as tx:
        await tx.tasks.add(a_task(1), TaskSpec(command=("x",), cwd="/"))
    after = await workers.do("ann", replace(short(), hypothetical=True), FACTS)
    assert after.task.id == before.task.id + 1


async def test_facts_are_sent_again_when_they_have_changed(workers) -> None:
    gang = replace(short(), task=a_task(500, nodes=4, priority=Priority.NORMAL, submitted_at=at(-9)))
    more = replace(FACTS, nodes=FACTS.nodes[:3])
    assert (await workers.do("ann", gang, FACTS)).outcome != (await workers.do("ann", gang, more)).outcome


async def test_what_is_computed_ends_with_the_client_that_asked_for_it(workers) -> None:
    asking = asyncio.create_task(workers.do("ann", endless(), FACTS))
    await until("a computation to begin", lambda: children(workers))
    process = workers.pid
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await until("every computation to be ended", lambda: not children(workers))
    assert isinstance(await workers.do("ann", ExperimentOrder(text=EXPERIMENT)), Submission)
    assert workers.pid == process, "what has been read and imported is still there"


async def test_a_user_who_hangs_up_eight_times_keeps_no_other_waiting(workers) -> None:
    """The attack: one user's eight forecasts, each for as long as one may, and their connections closed."""
    mallory = [asyncio.create_task(workers.do("mallory", endless(), FACTS)) for _ in range(8)]
    await until("a computation to begin", lambda: children(workers))
    bob = asyncio.create_task(workers.do("bob", short(), FACTS))
    await asyncio.sleep(0)
    for one in mallory:
        one.cancel()
    assert (await bob).task.id == 1
    assert all(
        isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*mallory, return_exceptions=True)
    )
    assert children(workers) == []


async def test_one_user_computes_one_thing_at_a_time(store, tmp_path) -> None:
    workers = ProcessWorkers(Secret(sqlite_url(tmp_path / "hai.sqlite")), number=2)
    mallory = [asyncio.create_task(workers.do("mallory", endless(), FACTS)) for _ in range(4)]
    await until("a computation to begin", lambda: children(workers))
    assert (await workers.do("bob", short(), FACTS)).task.id == 1, "though none of the others has ended"
    assert len(children(workers)) <= 1, "none is there for a moment when one has used its time and the next one begins"
    for one in mallory:
        one.cancel()
    await asyncio.gather(*mallory, return_exceptions=True)
    await workers.close()


async def test_a_process_that_is_killed_is_replaced(workers) -> None:
    asking = asyncio.create_task(workers.do("ann", endless(), FACTS))
    await until("a computation to begin", lambda: children(workers))
    first, (child,) = workers.pid, children(workers)
    os.kill(first, signal.SIGKILL)
    with pytest.raises(Unavailable):
        await asking
    await until("the child to end", lambda: _ended(child))
    assert (await workers.do("ann", short(), FACTS)).task.id == 1
    assert workers.pid != first


async def test_a_process_that_hangs_is_replaced(store, tmp_path) -> None:
    workers = ProcessWorkers(Secret(sqlite_url(tmp_path / "hai.sqlite")), number=1, patience=60.0)
    assert isinstance(await workers.do("ann", ExperimentOrder(text=EXPERIMENT)), Submission)
    hangs = workers.pid
    assert hangs is not None
    os.kill(hangs, signal.SIGSTOP)
    workers._patience = 0.5
    with pytest.raises(Unavailable):
        await workers.do("ann", ExperimentOrder(text=EXPERIMENT))
    workers._patience = 60.0
    try:
        assert isinstance(await workers.do("ann", ExperimentOrder(text=EXPERIMENT)), Submission)
        assert workers.pid != hangs
    finally:
        await workers.close()
    await until("the process that hangs to be gone", lambda: not Path(f"/proc/{hangs}").exists())


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "idle"])
async def test_who_hangs_up_while_it_starts_leaves_no_process_behind(store, tmp_path, closed: bool) -> None:
    idle = 60.0 if closed else 0.5
    workers = ProcessWorkers(Secret(sqlite_url(tmp_path / "hai.sqlite")), number=1, idle=idle)
    asking = asyncio.create_task(workers.do("ann", short(), FACTS))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert workers.pid is None, "it has only been ordered"
    await until("the worker process", lambda: workers.pid is not None)
    pid = workers.pid
    if closed:
        await workers.close()
    await until("the worker process to end", lambda: _ended(pid))
    assert workers.pid is None
    await workers.close()


async def test_closing_ends_everything(workers) -> None:
    asking = asyncio.create_task(workers.do("ann", endless(), FACTS))
    await until("a computation to begin", lambda: children(workers))
    pids = [workers.pid, *children(workers)]
    await workers.close()
    with pytest.raises(Unavailable):
        await asking
    await until("all processes to end", lambda: all(map(_ended, pids)))


async def test_a_process_without_orders_ends(store, tmp_path) -> None:
    workers = ProcessWorkers(Secret(sqlite_url(tmp_path / "hai.sqlite")), number=1, idle=0.01)
    await workers.do("ann", ExperimentOrder(text=EXPERIMENT))
    pid = workers.pid
    await until("the worker process to be gone", lambda: workers.pid is None and _ended(pid))
    assert isinstance(await workers.do("ann", ExperimentOrder(text=EXPERIMENT)), Submission)
    await workers.close()


async def test_it_knows_no_secret_and_shows_no_address(workers, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HAI_SERVICE_SECRET", "x" * 32)
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "token")
    await workers.do("ann", ExperimentOrder(text=EXPERIMENT))
    shown = Path(f"/proc/{workers.pid}")
    variables = (shown / "environ").read_bytes().split(b"\0")
    assert not [one for one in variables if one.startswith((b"HAI_", b"JUPYTERHUB_"))]
    assert str(tmp_path).encode() not in (shown / "cmdline").read_bytes()


async def test_it_goes_behind_all_others_in_line_for_the_processor(workers) -> None:
    asking = asyncio.create_task(workers.do("ann", endless(), FACTS))
    await until("a computation to begin", lambda: children(workers))
    (child,) = children(workers)
    assert os.getpriority(os.PRIO_PROCESS, child) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


async def test_it_cannot_write(store, tmp_path) -> None:
    reader = open_reader(sqlite_url(tmp_path / "hai.sqlite"))
    with pytest.raises(RuntimeError, match="for reading"):
        reader.write()
    with pytest.raises(Temporary, match="readonly"):
        await reader.logs.append(RunId("1.1"), 0, offset=0, data=b"x", keep=10)
    async with reader.read() as tx:
        assert len(await tx.tasks.unfinished()) == 300
    await reader.close()


async def test_it_reads_postgresql_as_well() -> None:
    url = postgres_url()
    await empty_postgres(url, drop=True)
    store = await open_store(url)
    async with store.write() as tx:
        await tx.quotas.put(Quota(subject="public", group="training", priority=Priority.NORMAL, limit=None))
        for number in range(1, 60):
            task = a_task(number, user=f"user-{number % 7}", nodes=1 + number % 3, submitted_at=T0)
            await tx.tasks.add(task, TaskSpec(command=("x",), cwd="/"))
    await store.logs.append(RunId("1.1"), 0, offset=0, data=b"a step\n", keep=10**6)
    workers = ProcessWorkers(Secret(url), number=1)
    here = Here(store)
    for order in (replace(short(7), hypothetical=True), short(1)):
        for _ in range(2):
            assert await workers.do("ann", order, FACTS) == await here.do("ann", order, FACTS)
    asking = asyncio.create_task(workers.do("ann", endless(), FACTS))
    await until("a computation to begin", lambda: children(workers))
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    log = RunLog(run=1, run_id=RunId("1.1"), ranks=1, place=LogPlace())
    assert (await workers.do("ann", _search("STEP", log))).counts == {(1, 0): 1}
    await workers.close()
    await store.close()


def _log(folder: Path, lines: list[str]) -> RunLog:
    where = folder / "1" / "1" / "0" / "log"
    where.mkdir(parents=True)
    stamp = "2026-01-05T12:00:02.000000Z"
    (where / f"{0:020d}.log").write_text("".join(f"{stamp} {line}\n" for line in lines))
    place = LogPlace(folder=str(folder / "1" / "1"), below="log", own=True)
    return RunLog(run=1, run_id=RunId("1.1"), ranks=3, place=place)


def _search(text: str, log: RunLog, **bounds: float) -> SearchOrder:
    limits = {"most_bytes": 10**9, "most_seconds": 60.0, "most_lines": 2, **bounds}
    return SearchOrder(text=text, logs=(log,), **limits)


async def test_logs_in_folders_are_searched_where_they_are(workers, tmp_path) -> None:
    log = _log(tmp_path, ["Step 1", "ÄRGER \ud7ff", "step 2", "loss 2026", "STEP 3"])
    hits = await workers.do("ann", _search("STEP", log))
    assert isinstance(hits, Hits)
    assert (hits.counts, [line.text for line in hits.lines]) == ({(1, 0): 3}, ["Step 1", "step 2"])
    assert hits.complete
    assert (await workers.do("ann", _search("ärger", log))).counts == {(1, 0): 1}
    assert (await workers.do("ann", _search("2026", log))).counts == {(1, 0): 1}, "the time of a line is not its text"
    whole = read_log(tmp_path / "1" / "1" / "0" / "log", offset=0, limit=10**6, final=False)
    assert hits.lines[0].cursor.offset == whole.data.index(b"\n") + 1


async def test_rights_that_a_job_has_taken_away_are_given_back(workers, tmp_path) -> None:
    log = _log(tmp_path, ["step 1"])
    folder = tmp_path / "1" / "1" / "0"
    folder.chmod(0)
    try:
        assert (await workers.do("ann", _search("step", log))).counts == {(1, 0): 1}
    finally:
        folder.chmod(0o700)


async def test_a_search_that_has_had_its_bytes_or_its_time_says_so(workers, tmp_path) -> None:
    log = _log(tmp_path, ["step 1"] * 20_000)
    assert not (await workers.do("ann", _search("step", log, most_bytes=1000))).complete
    assert not (await workers.do("ann", _search("step", log, most_seconds=0.0))).complete


async def test_logs_that_the_store_keeps_are_searched_there(workers, store) -> None:
    lines = b"".join(b"2026-01-05T12:00:02.000000Z step %d\n" % number for number in range(9000))
    await store.logs.append(RunId("1.1"), 0, offset=0, data=lines, keep=10**9)
    log = RunLog(run=1, run_id=RunId("1.1"), ranks=2, place=LogPlace())
    hits = await workers.do("ann", _search("step 89", log))
    assert (hits.counts, hits.complete) == ({(1, 0): 111}, True)
    assert [line.text for line in hits.lines] == ["step 89", "step 890"]


def _ended(pid: int) -> bool:
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True
