"""Loop and API whose ports are in use end with a sentence, and start once the ports are free."""

from __future__ import annotations

import contextlib
import socket

import pytest

from integration.replicas.conftest import Replica
from kit.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_port_in_use_ends_the_process_with_a_sentence(single: Replica) -> None:
    with contextlib.ExitStack() as taken:
        for port in (single.port, single.health_port):
            taken.enter_context(socket.create_server(("127.0.0.1", port)))
        await single.launch()
        assert [await process.wait() for process in single.processes] == [1, 1]
    assert f"hai-scheduler: --health-port {single.health_port}: cannot listen at 127.0.0.1" in single.log.read_text()
    assert f"hai-scheduler: --port {single.port}: cannot listen at 127.0.0.1" in single.api_log.read_text()
    assert "Traceback" not in single.said
    await single.launch()
    await until("the service to be ready", single.ready)
