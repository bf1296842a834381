"""Environments that are really built, by uv, from small wheels that the tests make: no network is needed."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0


def make_wheel(folder: Path, name: str, version: str, *, requires: tuple[str, ...] = (), files: int = 1) -> Path:
    """Make a wheel: `import name; name.VERSION`, and further modules."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    contents = {
        f"{name}/__init__.py": f"VERSION = {version!r}\n",
        **{f"{name}/m{number}.py": f"X = {number}\n" for number in range(files - 1)},
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {one}\n" for one in requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},"
        f"{len(text)}\n"
        for path, text in contents.items()
    )
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**contents, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(path, text)
    return wheel


@dataclass(frozen=True)
class World:
    """A root of environments, and wheels to build them from."""

    place: Path

    @property
    def root(self) -> Path:
        return self.place / "root"

    @property
    def wheels(self) -> Path:
        return self.place / "wheels"

    @property
    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_", "HAIENV"))}
        return kept | {
            "HAIENV_ROOT": str(self.root),
            "HAIENV_USER": "ann",
            "HAIENV_GROUPS": "cv",
            "PYTHONPATH": str(ROOT / "haienv"),
            "UV_CACHE_DIR": str(self.place / "cache"),
            "UV_OFFLINE": "1",
            "UV_FIND_LINKS": str(self.wheels),
            "UV_PYTHON_DOWNLOADS": "never",
            "PIP_CONFIG_FILE": os.devnull,
        }

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        """Start `haienv`."""
        return subprocess.Popen(
            [sys.executable, "-m", "haienv", *words], env=self.env | env, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip

    def call(self, *words: str, **env: str) -> tuple[int, str, str]:
        """Run `haienv`: status, output, messages."""
        process = self.start(*words, **env)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def haienv(self, *words: str, **env: str) -> str:
        """Run `haienv`, which must succeed; its output."""
        status, out, err = self.call(*words, **env)
        assert status == 0, err
        return out

    def fails(self, *words: str, **env: str) -> tuple[int, str]:
        """Run `haienv`, which must fail without a traceback; status and message."""
        status, _, err = self.call(*words, **env)
        assert status != 0
        assert "Traceback" not in err, err
        return status, err

    def json(self, *words: str) -> Any:
        return json.loads(self.haienv(*words, "--json"))

    def create(self, name: str, *words: str) -> str:
        return self.haienv("create", name, "--no-kernel", "--python", sys.executable, *words)

    def version(self, name: str, package: str) -> str:
        """The version of a package that a program in the environment imports."""
        line = f"import {package}; print({package}.VERSION)"
        return self.haienv("run", name, "--", "python", "-c", line).strip()


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    for version in ("1.0", "2.0"):
        make_wheel(made.wheels, "alpha", version)
    make_wheel(made.wheels, "beta", "1.0", requires=("alpha>=1",), files=40)
    make_wheel(made.wheels, "gamma", "1.0", requires=("alpha<2",))
    return made
