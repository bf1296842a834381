"""Loading a certificate with its key, and what is said of files that do not serve."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hai_client.certificates import CertificateError, serving
from kit.certificates import certificate


@pytest.fixture
def files(tmp_path: Path) -> Path:
    certificate(tmp_path, "hub", "hub.example.org")
    certificate(tmp_path, "other", "other.example.org")
    return tmp_path


def test_a_pair_serves(files: Path) -> None:
    assert serving(files / "hub.crt", files / "hub.key").minimum_version.name == "TLSv1_2"


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o644, 0o777])
def test_a_key_for_all_is_refused_with_the_remedy(files: Path, mode: int) -> None:
    (files / "hub.key").chmod(mode)
    with pytest.raises(CertificateError, match=f"chmod 600 {files}/hub.key"):
        serving(files / "hub.crt", files / "hub.key")


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o640])
def test_a_key_of_the_owner_or_a_group_is_taken(files: Path, mode: int) -> None:
    (files / "hub.key").chmod(mode)
    serving(files / "hub.crt", files / "hub.key")


@pytest.mark.parametrize(
    ("given", "key", "said"),
    [
        ("hub.crt", "other.key", "is not the one of the certificate"),
        ("hub.key", "hub.crt", "all accounts can use the key"),
        ("missing", "hub.key", "the certificate .*missing cannot be read: No such file"),
        ("hub.crt", "missing", "the key .*missing cannot be read: No such file"),
        (".", "hub.key", "the certificate .* cannot be read: Is a directory"),
        ("hub.key", "hub.key", "are not a certificate and its private key in PEM"),
        ("text", "hub.key", "are not a certificate and its private key in PEM"),
        ("empty", "hub.key", "are not a certificate and its private key in PEM"),
        ("hub.crt", "text", "are not a certificate and its private key in PEM"),
        ("hub.crt", "locked.key", "has a passphrase"),
    ],
)
def test_what_does_not_serve_is_told_by_its_file(files: Path, given: str, key: str, said: str) -> None:
    (files / "text").write_bytes(b"no \xff PEM")
    (files / "text").chmod(0o600)
    (files / "empty").touch()
    words = ["openssl", "pkey", "-aes256", "-passout", "pass:secret", "-in", files / "hub.key"]
    if key == "locked.key":
        subprocess.run([*words, "-out", files / "locked.key"], check=True, capture_output=True)
        (files / "locked.key").chmod(0o600)
    with pytest.raises(CertificateError, match=said):
        serving(files / given, files / key)
