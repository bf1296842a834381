"""Secrets come from variables or from files, and no error shows one."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_client.errors import Invalid
from hai_client.secret_files import address_of, secret_of

ADDRESS = "postgresql://hub@db.example:5432/jupyterhub?connect_timeout=5"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "secret"
    made.write_text("s3cret\n")
    return made


def test_a_file_is_read_without_the_end_of_its_line(file: Path) -> None:
    assert secret_of("TOKEN", {"TOKEN_FILE": str(file)}) == "s3cret"


def test_the_variable_wins_and_an_empty_one_does_not(file: Path) -> None:
    assert secret_of("TOKEN", {"TOKEN": "other", "TOKEN_FILE": str(file)}) == "other"
    assert secret_of("TOKEN", {"TOKEN": "", "TOKEN_FILE": str(file)}) == "s3cret"
    assert secret_of("TOKEN", {}) == ""


def test_a_file_that_is_no_secret_is_named_with_its_variable(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"TOKEN_FILE: .*absent cannot be read \(No such file or directory\)"):
        secret_of("TOKEN", {"TOKEN_FILE": str(tmp_path / "absent")})
    (tmp_path / "empty").touch()
    with pytest.raises(Invalid, match="empty is empty"):
        secret_of("TOKEN", {"TOKEN_FILE": str(tmp_path / "empty")})
    (tmp_path / "bytes").write_bytes(b"s3cret\xff")
    with pytest.raises(Invalid, match="UnicodeDecodeError") as caught:
        secret_of("TOKEN", {"TOKEN_FILE": str(tmp_path / "bytes")})
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "password", "whole"),
    [
        (ADDRESS, "s3cret", "postgresql://hub:s3cret@db.example:5432/jupyterhub?connect_timeout=5"),
        ("redis://redis:6379/0", "s3cret", "redis://:s3cret@redis:6379/0"),
        ("redis://[::1]:6379/0", "s3cret", "redis://:s3cret@[::1]:6379/0"),
        (ADDRESS, "a/b@c:d%", ADDRESS.replace("hub@", "hub:a%2Fb%40c%3Ad%25@")),
        (ADDRESS, "", ADDRESS),
        ("", "s3cret", ""),
    ],
    ids=["postgresql", "no user", "IPv6", "signs that an address knows", "no password", "no address"],
)
def test_a_password_is_put_into_the_address(address: str, password: str, whole: str) -> None:
    assert address_of("URL", "PASSWORD", {"URL": address, "PASSWORD": password}) == whole


def test_the_default_is_an_address_too() -> None:
    assert address_of("URL", "PASSWORD", {"PASSWORD": "x"}, default="redis://redis") == "redis://:x@redis"


def test_two_passwords_are_refused_and_neither_is_shown() -> None:
    with pytest.raises(Invalid, match="PASSWORD: URL holds a password already") as caught:
        address_of("URL", "PASSWORD", {"URL": "redis://:s3cret@redis", "PASSWORD": "b1tter"})
    assert "s3cret" not in str(caught.value)
    assert "b1tter" not in str(caught.value)


def test_a_password_for_a_file_is_refused() -> None:
    with pytest.raises(Invalid, match="names no host"):
        address_of("URL", "PASSWORD", {"URL": "sqlite:////srv/hai.sqlite", "PASSWORD": "x"})
