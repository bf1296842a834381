"""TLS to mail servers and webhooks checks names and certificates."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from hai_scheduler.adapters.messaging.tls import tls_of
from kit.certificates import certificate


def test_certificates_and_names_are_checked(tmp_path: Path) -> None:
    certificate(tmp_path, "own", "127.0.0.1")
    for context in (tls_of(None), tls_of(tmp_path / "own.crt")):
        assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
        assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("nothing")
    with pytest.raises(ssl.SSLError):
        tls_of(tmp_path / "empty")
    with pytest.raises(FileNotFoundError):
        tls_of(tmp_path / "none")
