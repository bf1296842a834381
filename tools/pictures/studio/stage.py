"""The platform of the pictures: the real `hai up` with two weeks behind it, its users, and what the admin has set."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from e2e.conftest import BIN, Platform
from hai_client import TaskRequest
from integration.haienv.conftest import make_wheel
from kit.databases import sqlite_url
from kit.waiting import wait_for
from pictures.studio import past
from pictures.studio.lab import ADMIN, GONE, LOOKER, PEOPLE, WATCHED, nodes_file

TRAINING = Path(__file__).with_name("train.py")
#: How many tasks run when everything that can has been resumed.
MOST_BUSY = 8


@dataclass
class Lab(Platform):
    """The platform, and the passwords of those who look at pages."""

    folder: Path = field(default_factory=Path)
    passwords: dict[str, str] = field(default_factory=lambda: {ADMIN: "a long enough word"})

    @property
    def env(self) -> dict[str, str]:
        """The variables of `hai up`, whose home is a folder of its own."""
        return super().env | {"HOME": str(self.folder)}

    def running(self) -> int:
        """Return how many tasks run."""
        return sum(task.state == "running" for task in self.client().tasks(state="live", user="*"))


@contextmanager
def lab(home: Path) -> Iterator[Lab]:
    """Start the platform in an empty folder, and fill it; it is ended afterwards."""
    folder = home / "lab"
    folder.mkdir()
    shutil.copyfile(TRAINING, folder / "train.py")
    file = home / "nodes.toml"
    file.write_text(nodes_file())
    made = Lab(home, nodes=0, folder=folder)
    made.options = ("--nodes-file", str(file))
    made.state.mkdir(mode=0o700)
    # `hai up` takes an empty folder or one of an earlier start.
    asyncio.run(past.write(sqlite_url(made.state / "hai.sqlite"), str(folder), datetime.now(UTC)))
    try:
        made.start()
        _fill(made)
        yield made
    finally:
        made.end()


def _fill(made: Lab) -> None:
    for group in sorted(set(PEOPLE.values())):
        made.ask_hub("POST", f"/groups/{group}", {"users": []})
    for name, group in PEOPLE.items():
        made.token(name)
        made.ask_hub("POST", f"/groups/{group}/users", {"users": [name]})
    made.passwords[LOOKER] = made.json("admin", "user", "password", LOOKER)["password"]
    _set(made)
    _environments(made)
    wait_for("the tasks to be resumed", lambda: made.running() >= MOST_BUSY)
    _submit(made)


def _set(made: Lab) -> None:
    """What the admin has set: quota, rates, budgets, policy numbers, and marks of nodes."""
    for words in (
        "quota set user:mei HIGH 12 --ceiling 16",
        "quota set user:sofia ABOVE_NORMAL 8 --for 14d",
        "quota set group:vision NORMAL 10",
        "quota set group:language NORMAL 12",
        "quota set user:priya NORMAL 4 --group a100",
        "quota set user:nadia HIGH 4 --group a100 --for 30d",
        "rates set EUR --gpu-hour 1.20 --from 2026-01-01",
        "rates set EUR --gpu-hour 0.70 --from 2026-01-01 --group a100",
        "budgets set vision 20000 gpu-hours --per 30d",
        "policy set slice=45m --group a100",
        "policy set half_life=2h",
        "cordon a100-07",
        "drain h100-16",
        f"user archive {GONE} --note 'left in November'",
    ):
        made.hai("admin", *_split(words))


def _split(words: str) -> list[str]:
    parts = words.split("'")
    return [*parts[0].split(), *parts[1:2]]


def mount_rules(made: Lab) -> None:
    """Write mount rules: for a picture of the rules, as nothing here can be mounted."""
    for name, subject, path, source, more in (
        ("home", "public", "/home/{user}", "/data/home/{user}", ["--write", "--description", "home folders"]),
        ("datasets", "public", "/datasets", "/data/datasets", ["--description", "read by all"]),
        ("scratch", "public", "/scratch", "/nvme/{user}/{task}", ["--write", "--group", "training"]),
        ("faces", "group:vision", "/datasets/faces", "/data/faces", ["--description", "under an agreement"]),
        ("corpora", "group:language", "/corpora", "/data/corpora", ["--description", "licensed texts"]),
    ):
        made.hai("admin", "mounts", "set", name, subject, path, "--host-path", source, *more)
    made.hai("admin", "mounts", "set", "no-faces", "user:tariq", "/datasets/faces", "--remove")


def _environments(made: Lab) -> None:
    """Build environments, from wheels that hold nothing but their names."""
    wheels = made.home / "wheels"
    for name, version in (("torch", "2.9.1"), ("transformers", "4.57.1"), ("timm", "1.0.22"), ("jax", "0.8.1")):
        make_wheel(wheels, name, version)
    env = made.env | {
        "HAIENV_ROOT": str(made.state / "haienv"),
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": str(wheels),
        "UV_CACHE_DIR": str(made.home / "cache"),
        "UV_PYTHON_DOWNLOADS": "never",
    }
    for words in (
        "base/torch torch==2.9.1",
        "base/jax jax==0.8.1",
        "-u mei sft torch==2.9.1 transformers==4.57.1",
        "-u mei vision timm==1.0.22 torch==2.9.1",
    ):
        command = [str(BIN / "haienv"), "create", "--no-kernel", "-p", sys.executable, *words.split()]
        done = subprocess.run(command, env=os.environ | env, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"haienv create {words}: {done.stderr or done.stdout}", file=sys.stderr)


def _submit(made: Lab) -> None:
    """Submit what ends soon, what fails, and what waits for its owner."""

    def submit(user: str, name: str, *more: str, **fields: Any) -> int:
        command = ("python", "train.py", "--config", f"{name}.yaml", *more)
        request = TaskRequest(name=name, command=command, cwd=str(made.folder), **fields)
        return made.client(user).submit(request).id

    # Nodes of this group are free.
    failed = submit(LOOKER, "llama-8b-lr3e-4", "--fails", gpus=1, group="a100", tags=("sweep",))
    submit(LOOKER, "tokenizer-eval", "--ends", gpus=1, group="a100")
    submit(LOOKER, "llama-8b-sft-de", nodes=2, hold=True)
    submit("lukas", "reward-model-70b", nodes=12, tags=("paper",))
    made.client(LOOKER).set_star(WATCHED)
    wait_for("a task to fail", lambda: made.client(LOOKER).task(failed).state == "failed")
