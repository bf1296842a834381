"""What docs/group.md gives to copy: a configuration of nginx."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from docs.kit import ROOT

PAGE = (ROOT / "docs/group.md").read_text()


def block(language: str, holding: str) -> str:
    """The block of code of a language that holds a text."""
    (found,) = [one for one in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if holding in one]
    return str(found)


@pytest.mark.skipif(shutil.which("nginx") is None or shutil.which("openssl") is None, reason="needs nginx and openssl")
def test_nginx_takes_the_configuration(tmp_path: Path) -> None:
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=hub.example.org"]
    subprocess.run([*words, "-keyout", tmp_path / "key", "-out", tmp_path / "cert"], check=True, capture_output=True)
    text = block("nginx", "proxy_pass")
    text = re.sub(r"(ssl_certificate) +\S+;", rf"\1 {tmp_path}/cert;", text)
    text = re.sub(r"(ssl_certificate_key) +\S+;", rf"\1 {tmp_path}/key;", text)
    config = tmp_path / "nginx.conf"
    config.write_text(f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ access_log off; {text} }}")
    done = subprocess.run(["nginx", "-t", "-c", config], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
