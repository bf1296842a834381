"""Passwords of invited users, how fast they can be guessed, and what is written of logins."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hai_hub.logins.login_records import FAILED_A_MINUTE, LoginRecords
from hai_hub.logins.passwords import Passwords
from hai_hub.logins.slowing import FORGOTTEN_S, FREE, LONGEST_WAIT_S, MOST_PAIRS, Slowing
from hai_hub.shared.errors import UpError


@pytest.fixture
def passwords(tmp_path: Path) -> Passwords:
    return Passwords(tmp_path / "passwords.json")


def test_each_user_has_a_password_of_their_own(passwords: Passwords) -> None:
    bobs, eves = passwords.make("bob", "2026"), passwords.make("eve", "2026")
    assert passwords.matches("bob", "2026", bobs)
    assert not passwords.matches("bob", "2026", eves)
    assert not passwords.matches("bob", "2026", "")
    assert not passwords.matches("zoe", "2026", bobs)
    assert len(bobs) >= 12


def test_a_new_password_replaces_the_one_before_and_a_removed_one_is_none(passwords: Passwords) -> None:
    before = passwords.make("bob", "2026")
    after = passwords.make("bob", "2026")
    assert [passwords.matches("bob", "2026", text) for text in (before, after)] == [False, True]
    passwords.remove("bob")
    passwords.remove("bob")
    assert not passwords.matches("bob", "2026", after)


def test_who_gets_a_name_later_does_not_get_its_password(passwords: Passwords) -> None:
    made = passwords.make("bob", "2026-01-01")
    assert passwords.has("bob", "2026-01-01")
    assert not passwords.has("bob", "2026-02-02")
    assert not passwords.matches("bob", "2026-02-02", made)


def test_the_file_holds_no_password_and_is_private(passwords: Passwords, tmp_path: Path) -> None:
    made, again = passwords.make("bob", "2026"), passwords.make("eve", "2026")
    file = tmp_path / "passwords.json"
    text = file.read_text()
    assert made not in text
    assert again not in text
    kept = json.loads(text)
    assert kept["bob"]["salt"] != kept["eve"]["salt"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["{", "[]", '{"bob": 1}', '{"bob": {"salt": "x"}}'])
def test_a_damaged_file_is_named_and_lets_no_user_in(passwords: Passwords, tmp_path: Path, text: str) -> None:
    (tmp_path / "passwords.json").write_text(text)
    with pytest.raises(UpError, match=r"passwords\.json cannot be read .*hai admin user password NAME"):
        passwords.matches("bob", "2026", "x")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_after_some_failures_each_try_waits_twice_as_long() -> None:
    clock = Clock()
    slowing = Slowing(clock)
    waits = []
    for _ in range(FREE + 8):
        slowing.failed("1.2.3.4", "bob")
        waits.append(slowing.wait_s("1.2.3.4", "bob"))
        clock.now += waits[-1]
        assert slowing.wait_s("1.2.3.4", "bob") == 0
    assert waits == [0] * FREE + [1, 2, 4, 8, 16, 32, LONGEST_WAIT_S, LONGEST_WAIT_S]


def test_another_name_and_another_address_do_not_wait_and_time_or_success_ends_it() -> None:
    clock = Clock()
    slowing = Slowing(clock)
    for _ in range(FREE + 3):
        slowing.failed("1.2.3.4", "bob")
    assert slowing.wait_s("1.2.3.4", "bob") == 4
    assert slowing.wait_s("1.2.3.4", "eve") == slowing.wait_s("1.2.3.5", "bob") == 0
    clock.now += FORGOTTEN_S + 1
    slowing.failed("1.2.3.4", "eve")
    assert slowing.wait_s("1.2.3.4", "bob") == 0
    slowing.failed("1.2.3.4", "bob")
    assert slowing.wait_s("1.2.3.4", "bob") == 0
    for _ in range(FREE):
        slowing.failed("1.2.3.4", "bob")
    slowing.succeeded("1.2.3.4", "bob")
    assert slowing.wait_s("1.2.3.4", "bob") == 0


def test_a_flood_of_names_takes_bounded_memory() -> None:
    slowing = Slowing(Clock())
    for number in range(MOST_PAIRS + 100):
        slowing.failed("1.2.3.4", f"u{number}")
    assert len(slowing._pairs) == len(slowing._names) == MOST_PAIRS


def test_a_login_is_a_line_and_a_flood_of_failures_is_counted(tmp_path: Path) -> None:
    clock = Clock()
    file = tmp_path / "logins.log"
    records = LoginRecords(file, clock=clock, now=lambda: datetime(2026, 11, 22, 8, tzinfo=UTC))
    records.record("ok", "ann", "127.0.0.1", "/hub/login")
    for number in range(1000):
        records.record("failed", f"u{number}", "10.0.0.9", "/hub/login")
    records.record("ok", "bob", "127.0.0.1", "/hub/login")
    lines = file.read_text().splitlines()
    assert lines[0] == "2026-11-22T08:00:00+00:00 ok user=ann from=127.0.0.1 by=/hub/login"
    assert len(lines) == 2 + FAILED_A_MINUTE
    assert " ok user=bob " in lines[-1]
    clock.now += 60
    records.record("failed", "eve", "10.0.0.9", "/hub/login")
    counted = 1000 - FAILED_A_MINUTE
    assert f"({counted} more failed or slowed logins were counted before this one)" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_name_cannot_forge_a_line(tmp_path: Path) -> None:
    file = tmp_path / "logins.log"
    records = LoginRecords(file)
    for name in ("x\n2026 ok user=ann", "x from=1.1.1.1", "\x1b[2J", "", "ö" * 100_000):
        records.record("failed", name, "127.0.0.1", "/hub/login")
    text = file.read_text()
    assert text.count("\n") == 5
    assert "\x1b" not in text
    assert len(text) < 3000
    assert all(line.count(" ok ") == 0 or 'user="' in line for line in text.splitlines())
