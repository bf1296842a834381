"""A service whose port was taken while it was down comes back on another one."""

from __future__ import annotations

import shlex
import socket
import sys

import pytest

from integration.replicas.conftest import Replica
from kit.ports import free_port
from kit.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAVES = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("saved", flush=True), sys.exit(0)))
print("up", flush=True)
time.sleep(600)
"""


async def test_a_running_rank_hears_its_notice_and_its_reports_arrive(single: Replica) -> None:
    await single.launch()
    await until("the service to lead", single.leads)
    task = await single.submit("saver", shlex.join(["exec", sys.executable, "-c", SAVES]), grace_s=100)
    await single.wait_for(task, "running")

    async def shows(text: str) -> bool:
        return text in [line["text"] for line in (await single.get(f"/tasks/{task}/logs"))["lines"]]

    await until("the command to be up", lambda: shows("up"))
    await single.end()

    # Another process has the port now: it takes connections and does not answer.
    with socket.create_server(("127.0.0.1", single.port)):
        single.port = free_port()
        await single.launch()
        await until("the service to lead", single.leads)
        status, _ = await single.json("POST", f"/tasks/{task}/suspend")
        assert status == 200
        await single.wait_for(task, "suspended")
    shown = await single.get(f"/tasks/{task}")
    assert [rank["notified_at"] is not None for rank in shown["runs"][0]["ranks"]] == [True]
    assert shown["runs"][0]["left"] == "unknown", "it prints that it has saved, and the platform has no word of it"
    await until("the line that it has saved", lambda: shows("saved"))
