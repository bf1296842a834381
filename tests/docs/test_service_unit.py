"""What docs/operations.md gives to copy for one machine: a unit of systemd, and a configuration of nginx."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.kit import ROOT
from hai_hub.up.options import parse

PAGE = (ROOT / "docs/operations.md").read_text()


def block(language: str, holding: str) -> str:
    """The block of code of a language that holds a text."""
    (found,) = [one for one in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if holding in one]
    return str(found)


def test_the_unit_starts_hai_up_with_options_that_there_are_and_lets_it_stop_the_rest() -> None:
    unit = configparser.ConfigParser(strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(block("ini", "ExecStart"))
    service = unit["Service"]
    program, verb, *words = shlex.split(service["ExecStart"])
    assert (Path(program).parts[-3:], verb) == ((".venv", "bin", "hai"), "up")
    assert parse(words).port == 8000
    assert (service["KillSignal"], service["KillMode"]) == ("SIGINT", "process")
    assert service["RestartPreventExitStatus"] == "2", "wrong input, or the port is in use: docs say so above"
    assert int(service["TimeoutStopSec"]) > 25 + 30, "25 s for tasks to save, half a minute for the Hub's servers"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    text = block("ini", "ExecStart").replace("/srv/hai/.venv/bin/hai", sys.executable)
    text = text.replace("/srv/hai", str(tmp_path))
    file = tmp_path / "hai.service"
    file.write_text(text.replace("User=hai", "User=root"))
    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "hai.service" in line]) == (0, [])


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
