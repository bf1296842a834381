"""How long a refused login takes tells nothing of the name."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hai_hub.logins.authenticator import OwnPasswordAuthenticator
from hai_hub.logins.passwords import Passwords


class Clock:
    def __init__(self) -> None:
        self.now = 1000.25

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def logins(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> OwnPasswordAuthenticator:
    """Those of the admin eve and of ann; hashes take a twentieth of a second, and for bob much longer."""

    def matches(_: Passwords, name: str, since: str, password: str) -> bool:
        clock.now += 3.3 if name == "bob" else 0.05
        return (since, password) == ("", "right")

    monkeypatch.setattr(Passwords, "matches", matches)
    (tmp_path / "admin").write_text("secret\n")
    made = OwnPasswordAuthenticator(
        local_user="eve", admin_password_file=str(tmp_path / "admin"), passwords_file=str(tmp_path / "others")
    )
    made._clock, made._sleep = clock, clock.sleep
    return made


async def log_in(logins: OwnPasswordAuthenticator, name: str, password: str) -> Any:
    users = {known: SimpleNamespace(name=known, created=None) for known in ("ann", "bob", "eve")}
    handler = SimpleNamespace(find_user=users.get)
    return await logins.authenticate(handler, {"username": name, "password": password})


@pytest.mark.parametrize(("name", "seconds"), [("ann", 1), ("eve", 1), ("nobody", 1), ("", 1), ("bob", 4)])
async def test_a_refusal_comes_after_whole_seconds(
    logins: OwnPasswordAuthenticator, clock: Clock, name: str, seconds: int
) -> None:
    began = clock.now
    assert await log_in(logins, name, "wrong") is None
    assert clock.now - began == pytest.approx(seconds)


@pytest.mark.parametrize(("name", "password", "took"), [("ann", "right", 0.05), ("eve", "secret", 0.0)])
async def test_a_right_password_is_not_held_up(
    logins: OwnPasswordAuthenticator, clock: Clock, name: str, password: str, took: float
) -> None:
    began = clock.now
    assert await log_in(logins, name, password) == name
    assert clock.now - began == pytest.approx(took)
