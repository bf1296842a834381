"""The proof: what a task was submitted with is what all its turns run, whatever becomes of the folder between them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import Platform
from kit.waiting import wait_for

pytestmark = pytest.mark.e2e

#: `counting.py` with a module of the folder in the place of a package.
SCRIPT = """
import hashlib, json, os, sys, time
from pathlib import Path
from hai_client import job
import rule

saved = Path(os.environ["HAI_CHECKPOINT_DIR"]) / "state.json"
step, digest = json.loads(saved.read_text()) if saved.exists() else (0, "")
print(f"rule {rule.VERSION} from step {step} in {os.getcwd()} of {os.environ['HAI_SUBMIT_DIR']}", flush=True)
while step < 20:
    while step == 10 and not Path(sys.argv[1]).exists():
        if job.should_suspend():
            saved.parent.mkdir(parents=True, exist_ok=True)
            saved.with_suffix(".tmp").write_text(json.dumps([step, digest]))
            saved.with_suffix(".tmp").rename(saved)
            job.suspended()
        time.sleep(0.05)
    digest = hashlib.sha256(f"{digest} {step} {rule.VERSION}".encode()).hexdigest()
    step += 1
print("result", digest, flush=True)
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)
    (folder / "data/large.bin").write_bytes(b"x" * 3_000_000)
    (folder / ".gitignore").write_text("data/\n")
    (folder / "train.py").write_text(SCRIPT)
    (folder / "rule.py").write_text("VERSION = 'old'\n")
    git = ["git", "-c", "user.name=ann", "-c", "user.email=ann@example.org", "-C", str(folder)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    return folder


def submit(platform: Platform, code: Path, name: str, gate: Path, *options: str) -> tuple[int, str]:
    """The id of a new task, and what the command has said."""
    words = ("submit", "--name", name, *options, "--no-venv", "--", "python", "train.py", str(gate))
    said = platform.hai(*words, cwd=code).stdout
    found = re.search(r"is task (\d+)", said)
    assert found is not None, said
    return int(found[1]), said


def log(platform: Platform, task: int) -> str:
    return platform.hai("logs", str(task)).stdout


def in_state(platform: Platform, task: int, *states: str) -> dict[str, Any]:
    def look() -> dict[str, Any]:
        shown: dict[str, Any] = platform.json("status", str(task))
        assert shown["state"] in states or shown["state"] not in ("failed", "stopped"), log(platform, task)
        return shown if shown["state"] in states else {}

    return wait_for(f"task {task} to be {states}", look)


def result(platform: Platform, task: int) -> str:
    in_state(platform, task, "succeeded")
    [found] = re.findall(r"result ([0-9a-f]{64})", log(platform, task))
    return str(found)


def rules(platform: Platform, task: int) -> list[str]:
    return re.findall(r"rule (\S+) from", log(platform, task))


def test_a_task_goes_on_with_the_code_that_it_began_with(platform: Platform, code: Path, tmp_path: Path) -> None:
    gate, opened = tmp_path / "gate", tmp_path / "open"
    opened.touch()
    first, said = submit(platform, code, "undisturbed", opened, "--snapshot")
    assert re.search(r"snapshot [0-9a-f]{12}: 3 files, 3 sent, \d+ B; skipped: data/ \(3\.0 MB\)", said), said
    undisturbed = result(platform, first)

    task, said = submit(platform, code, "kept", gate, "--snapshot")
    assert "3 files, none sent" in said
    loose, _ = submit(platform, code, "loose", gate)
    for one in (task, loose):
        wait_for(f"task {one} to wait for its gate", lambda one=one: rules(platform, one))
        platform.hai("suspend", str(one))
        in_state(platform, one, "suspended")
    (code / "rule.py").write_text("VERSION = 'new'\n")
    gate.touch()
    for one in (task, loose):
        platform.hai("resume", str(one))
    assert result(platform, task) == undisturbed
    assert rules(platform, task) == ["old", "old"]
    assert f"of {code}" in log(platform, task)
    assert result(platform, loose) != undisturbed, "without a snapshot the edit counts at once"

    shown = platform.json("status", str(task))["snapshot"]
    head = subprocess.run(["git", "-C", str(code), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    assert (shown["commit"], shown["dirty"], shown["files"]) == (head.stdout.strip(), False, 3)
    words = platform.hai("status", str(task)).stdout
    assert re.search(rf"snapshot +{shown['digest'][:12]} \(3 files, .*; commit {shown['commit'][:12]}\)", words), words

    new, said = submit(platform, code, "new", opened, "--snapshot")
    assert "3 files, 1 sent" in said
    assert result(platform, new) != undisturbed
    assert platform.json("status", str(new))["snapshot"]["dirty"] is True

    # What it ran with can be had back, by its owner alone.
    back = tmp_path / "back"
    platform.hai("snapshot", "pull", str(task), str(back))
    assert (back / "rule.py").read_text() == "VERSION = 'old'\n"
    assert sorted(path.name for path in back.iterdir()) == [".gitignore", "rule.py", "train.py"]
    assert "rule.py" in platform.hai("snapshot", "show", str(task)).stdout
    stolen = platform.hai("snapshot", "pull", str(task), str(tmp_path / "stolen"), user="bob", check=False)
    assert stolen.returncode == 2
    assert not (tmp_path / "stolen").exists()


def test_a_file_asks_for_a_snapshot_and_a_group_can_require_one(platform: Platform, code: Path, tmp_path: Path) -> None:
    (tmp_path / "open").touch()
    file = code / "experiment.yml"
    file.write_text(
        json.dumps(
            {
                "version": 2,
                "name": "by-file",
                "spec": {"workspace": ".", "entrypoint": "train.py", "parameters": [str(tmp_path / "open")]},
                "resource": {"group": "training", "node_count": 1},
                "options": {"snapshot": True},
            }
        )
    )
    assert "snapshot " in platform.hai("run", "--no-venv", str(file)).stdout
    try:
        platform.hai("admin", "policy", "set", "snapshots=required")
        _, said = submit(platform, code, "must", tmp_path / "open")
        assert "snapshot " in said
        refused = platform.hai("submit", "--no-snapshot", "--", "true", cwd=code, check=False)
        assert refused.returncode == 2
        assert "submit with --snapshot" in refused.stderr
        platform.hai("admin", "policy", "set", "snapshots=off")
        refused = platform.hai("submit", "--snapshot", "--", "true", cwd=code, check=False)
        assert "takes no snapshots" in refused.stderr
    finally:
        platform.hai("admin", "policy", "unset", "snapshots")


def test_a_task_whose_snapshot_is_gone_waits_and_says_so(platform: Platform, code: Path, tmp_path: Path) -> None:
    task, _ = submit(platform, code, "frail", tmp_path / "gate", "--snapshot", "--retries", "1")
    wait_for("the task to wait for its gate", lambda: rules(platform, task))
    platform.hai("suspend", str(task))
    in_state(platform, task, "suspended")
    digest = platform.json("status", str(task))["snapshot"]["digest"]
    tree = platform.state / "snapshots/ann/trees" / digest
    aside = tmp_path / "aside"
    shutil.move(tree, aside)
    platform.hai("resume", str(task))
    shown = wait_for(
        "the task to say why it cannot start",
        lambda: (found := platform.json("status", str(task))) and "is gone" in found["message"] and found,
    )
    assert (shown["state"], shown["retries_used"]) == ("suspended", 0)
    assert {node["mark"] for node in platform.json("nodes")["items"]} == {"none"}
    aside.rename(tree)
    (tmp_path / "gate").touch()
    result(platform, task)
