"""The proof: a secret is found in the rank that gets it, and in nothing that the platform keeps, says or sends."""

from __future__ import annotations

import base64
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.conftest import Platform
from kit.waiting import wait_for

pytestmark = pytest.mark.e2e

CANARY = b"hf_canaryF00dF00dF00dF00d"
#: It prints what it has in the forms in which secrets leak, and waits until a file is there.
SCRIPT = """
import base64, os, sys, time
from pathlib import Path
value = os.environ["HF_TOKEN"]
assert value == Path("~/.netrc").expanduser().read_text().split()[-1]
print("login", value, base64.b64encode(b"ann:" + value.encode()).decode(), flush=True)
sys.stderr.write(value[:10]); sys.stderr.flush(); time.sleep(0.2); sys.stderr.write(value[10:] + "\\n")
while not Path(sys.argv[1]).exists():
    time.sleep(0.05)
print("done", flush=True)
"""
VERBS = (
    ("list",), ("status", "kept"), ("describe", "kept"), ("explain", "kept"), ("decisions", "kept"), ("logs", "kept"),
    ("secret", "list"), ("nodes",), ("quota",), ("whoami",), ("top", "kept"), ("report", "usage"), ("notify", "list"),
    ("admin", "audit"), ("admin", "health"), ("admin", "user", "list"), ("environments",), ("version", "--check"),
)  # fmt: skip


def forms() -> tuple[bytes, ...]:
    return CANARY, base64.b64encode(CANARY), base64.b64encode(b"ann:" + CANARY)[6:-2], CANARY.hex().encode()


def holds(data: bytes) -> bool:
    return any(form in data for form in forms())


def files_that_hold(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and holds(_bytes(path))]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # it was removed since
        return b""


def answers(platform: Platform, task: int) -> Iterator[tuple[str, bytes]]:
    """The body of every GET of the interface that can be asked so, and the metrics."""
    base, token = f"{platform.url}/services/hai", platform.token("ann")

    def body(path: str) -> bytes:
        asked = urllib.request.Request(f"{base}{path}", headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            return bytes(error.read())

    document = json.loads(body("/api/v1/openapi.json"))
    for path, verbs in document["paths"].items():
        there = path.replace("{task}", str(task)).replace("{user}", "ann").replace("{rank}", "0")
        if "get" in verbs and "{" not in there and not there.endswith("/events"):
            yield there, body(f"/api/v1{there}")
    yield "/metrics", body("/metrics")


def test_a_canary_is_found_nowhere_but_in_the_rank(platform: Platform, tmp_path: Path) -> None:
    gate, home, value = tmp_path / "gate", tmp_path / "home", tmp_path / "value"
    home.mkdir()
    value.write_bytes(CANARY)
    netrc = tmp_path / "netrc"
    netrc.write_bytes(b"machine hub login ann password\n" + CANARY + b"\n")
    platform.hai("secret", "set", "hf", "--file", str(value))
    platform.hai("secret", "set", "netrc", "--file", str(netrc))
    (tmp_path / "train.py").write_text(SCRIPT)
    said = platform.hai(
        *("submit", "--name", "kept", "--secret", "HF_TOKEN=hf", "--secret-file", "~/.netrc=netrc", "-n", "2"),
        *("-e", f"HOME={home}", "--no-venv", "--", "python", "train.py", str(gate)),
        cwd=tmp_path,
    ).stdout
    found = re.search(r"is task (\d+)", said)
    assert found is not None, said
    task = int(found[1])

    def printed() -> str:
        return platform.hai("logs", "kept", "-r", "all").stdout

    log = wait_for("both ranks to have printed", printed, met=lambda text: text.count("[secret ") >= 6)
    assert "login [secret hf]" in log
    for words in VERBS:
        # As JSON: that is all that a verb knows, and a start of the command takes a second.
        done = platform.hai(*words, "--json", check=False)
        assert not holds((done.stdout + done.stderr).encode()), words
    asked = 0
    for path, body in answers(platform, task):
        assert not holds(body), path
        asked += 1
    assert asked > 40
    platform.hai("backup", str(tmp_path / "copy.sqlite"))
    assert not holds((tmp_path / "copy.sqlite").read_bytes())
    assert files_that_hold(platform.state) == []
    lines = [_bytes(entry / "cmdline") for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    assert not any(map(holds, lines))

    gate.touch()
    wait_for("the task to end", lambda: platform.json("status", "kept")["state"] == "succeeded")
    assert files_that_hold(platform.state) == []
    assert not (home / ".netrc").is_symlink()
    platform.hai("secret", "remove", "hf")
    refused = platform.hai("submit", "--secret", "HF_TOKEN=hf", "--", "true", check=False)
    assert refused.returncode == 2
    assert "there is no secret 'hf': set it by `hai secret set hf`" in refused.stderr
