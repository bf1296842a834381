"""Prometheus for the tests is fetched once, and where it cannot be had that is said in a line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from docs.kit import ROOT

PROGRAM = ROOT / "helm" / "tools" / "fetch_prometheus.py"


def fetch(folder: Path, cache: Path, path: Path) -> subprocess.CompletedProcess[str]:
    environ = {"HOME": str(cache), "XDG_CACHE_HOME": str(cache), "PATH": str(path)}
    words = [sys.executable, str(PROGRAM), str(folder)]
    return subprocess.run(words, env=environ, capture_output=True, text=True, check=False)


def script(path: Path, name: str, text: str) -> None:
    path.mkdir(exist_ok=True)
    (path / name).write_text(f"#!/bin/sh\n{text}\n")
    (path / name).chmod(0o755)


def test_what_was_fetched_is_kept_and_fetched_no_second_time(tmp_path: Path) -> None:
    path, log = tmp_path / "path", tmp_path / "log"
    script(path, "apt-get", f'echo "$@" >> {log}; echo package > prometheus_2.42.deb')
    unpacked = 'mkdir() { /bin/mkdir "$@"; }; mkdir -p "$3/usr/bin"; '
    script(path, "dpkg", unpacked + 'for each in prometheus promtool; do echo "$each" > "$3/usr/bin/$each"; done')
    for number in ("one", "two"):
        done = fetch(tmp_path / number, tmp_path / "cache", path)
        assert (done.returncode, done.stderr) == (0, "")
        assert (tmp_path / number / "promtool").read_text() == "promtool\n"
    assert log.read_text() == "download prometheus\n"


def test_a_machine_that_is_no_debian_is_told_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "path").mkdir()
    done = fetch(tmp_path / "bin", tmp_path / "cache", tmp_path / "path")
    assert done.returncode == 1
    assert done.stderr == "no Prometheus for tests: this is no Debian: put prometheus and promtool on PATH yourself\n"


def test_a_download_that_fails_says_why(tmp_path: Path) -> None:
    script(tmp_path / "path", "apt-get", 'echo "E: Unable to locate package prometheus" >&2; exit 100')
    script(tmp_path / "path", "dpkg", "exit 1")
    done = fetch(tmp_path / "bin", tmp_path / "cache", tmp_path / "path")
    assert done.returncode == 1
    assert "Unable to locate package prometheus" in done.stderr
    assert not (tmp_path / "bin").exists()


def test_programs_that_are_there_are_left_alone(tmp_path: Path) -> None:
    for name in ("prometheus", "promtool"):
        script(tmp_path / "path", name, "true")
    assert fetch(tmp_path / "bin", tmp_path / "cache", tmp_path / "path").returncode == 0
    assert not os.path.lexists(tmp_path / "bin")
