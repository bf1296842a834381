"""Ports that tests choose for their servers."""

from __future__ import annotations

import pytest

from kit import ports


def test_no_port_is_given_twice_before_its_server_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "PORTS", range(20_000, 20_100))
    given = [ports.free_port() for _ in range(50)]
    assert len(set(given)) == 50
