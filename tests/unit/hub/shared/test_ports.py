"""Ports that are free, taken and chosen."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from hai_hub.shared import ports
from hai_hub.shared.errors import UpError


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        yield int(server.getsockname()[1])


def test_a_port_in_use_is_one_line_with_port_owner_and_remedy(taken: int) -> None:
    with pytest.raises(UpError) as refused:
        ports.require_free("127.0.0.1", taken)
    text = str(refused.value)
    assert refused.value.exit_code == 2
    assert "\n" not in text
    for word in (str(taken), f"process {os.getpid()}", "--port"):
        assert word in text


def test_an_owner_that_cannot_be_seen_is_guessed_at(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "holder", lambda _: None)
    with pytest.raises(UpError, match="perhaps another `hai up`"):
        ports.require_free("127.0.0.1", taken)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(UpError, match=r"cannot listen on 192\.0\.2\.1.*--ip") as refused:
        ports.require_free("192.0.2.1", 20000)
    assert refused.value.exit_code == 2


def test_the_port_of_the_last_start_is_taken_again() -> None:
    first = ports.choose(None, ())
    assert ports.choose(first, ()) == first


def test_a_port_that_is_taken_or_spoken_for_is_replaced(taken: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert ports.choose(taken, (), patience_s=0) != taken
    said = capsys.readouterr().out
    assert str(taken) in said
    assert f"process {os.getpid()}" in said
    assert ports.choose(25_000, {25_000}) != 25_000


def test_no_process_holds_a_free_port() -> None:
    assert ports.holder(ports.choose(None, ())) is None
