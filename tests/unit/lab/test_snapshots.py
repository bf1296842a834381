"""The panel's snapshots are those of `hai snapshot take`, run as the user."""

from __future__ import annotations

import json
import stat
import sys

import pytest

from hai_lab import snapshots
from unit.lab.conftest import said

TOOK = {"digest": "d" * 64, "commit": None, "dirty": False, "files": 3, "size": 9, "told": "3 files", "notes": []}


@pytest.fixture
def hai(tmp_path, monkeypatch):
    """A `hai` that writes down how it was called, and says what the test wants."""
    script = tmp_path / "hai"
    script.write_text(
        f"#!{sys.executable}\nimport json, sys\njson.dump(sys.argv[1:], open({str(tmp_path / 'called')!r}, 'w'))\n"
        f"sys.stderr.write(open({str(tmp_path / 'err')!r}).read())\n"
        f"print({json.dumps(TOOK)!r})\nsys.exit(int(open({str(tmp_path / 'status')!r}).read()))\n"
    )
    script.chmod(stat.S_IRWXU)
    (tmp_path / "err").write_text("")
    (tmp_path / "status").write_text("0")
    monkeypatch.setattr(snapshots, "command", lambda: [str(script)])
    return tmp_path


async def test_it_answers_with_the_digest(ask, hai):
    response = await ask("POST", "hai-lab/snapshot", send={"folder": "/home/a b/-x", "group": "training"})
    assert (response.code, said(response)) == (200, TOOK)
    assert json.loads((hai / "called").read_text()) == [
        "--json", "snapshot", "take", "--group=training", "--", "/home/a b/-x",
    ]  # fmt: skip


async def test_what_hai_says_is_the_answer(ask, hai):
    (hai / "err").write_text("hai: snapshot: data has 41 GB\n")
    (hai / "status").write_text("2")
    response = await ask("POST", "hai-lab/snapshot", send={"folder": "/home", "group": "training"})
    assert (response.code, said(response)["detail"]) == (400, "snapshot: data has 41 GB")


@pytest.mark.parametrize(
    "body",
    [{}, {"folder": "code", "group": "training"}, {"folder": "/x", "group": 1}, {"folder": "/\0", "group": ""}, []],
)
async def test_what_is_no_folder_is_refused(ask, hai, body):
    assert (await ask("POST", "hai-lab/snapshot", send=body)).code == 400
    assert not (hai / "called").exists()


async def test_it_needs_a_login(stranger, hai):
    response = await stranger("POST", "hai-lab/snapshot", send={"folder": "/x", "group": "training"})
    assert response.code in (403, 405)
    assert not (hai / "called").exists()
