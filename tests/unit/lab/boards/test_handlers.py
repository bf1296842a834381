"""TensorBoard over the server extension: what is there, what is missing, and who may look."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from hai_lab.boards import handlers
from unit.lab.conftest import said

PROXY = importlib.util.find_spec("jupyter_server_proxy")
needs_proxy = pytest.mark.skipif(PROXY is None, reason="jupyter-server-proxy is not installed: 'hai-lab[tensorboard]'")


@pytest.fixture
def folder(upstream, tmp_path: Path) -> Path:
    """The folder of task 41."""
    made = tmp_path / "41-logs" / "tensorboard"
    upstream.tasks = {"41": {"env": {}, "checkpoint_dir": str(tmp_path / "41"), "cwd": "/"}}
    return made


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handlers, "missing", list)


async def test_a_task_without_a_folder_has_nothing_for_it(ask, folder, installed) -> None:
    found = said(await ask("GET", "hai-lab/tensorboard?task=41"))
    assert found == {"folder": str(folder), "content": False, "advice": None}
    refused = await ask("POST", "hai-lab/tensorboard", send={"task": 41})
    assert refused.code == 404
    assert f"There is nothing in {folder}" in said(refused)["detail"]
    assert "HAI_TENSORBOARD_DIR" in said(refused)["detail"]


async def test_what_is_missing_is_named_with_the_remedy(ask, folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True)
    (folder / "events").touch()
    monkeypatch.setattr(handlers, "missing", lambda: ["tensorboard"])
    found = said(await ask("GET", "hai-lab/tensorboard?task=41"))
    assert (found["content"], "tensorboard is not installed" in found["advice"]) == (True, True)
    refused = await ask("POST", "hai-lab/tensorboard", send={"task": 41})
    assert refused.code == 503
    assert f"{sys.executable} -m pip install tensorboard; then start" in said(refused)["detail"]


async def test_a_task_that_the_user_may_not_see_has_no_board(ask, folder, installed) -> None:
    refused = await ask("POST", "hai-lab/tensorboard", send={"task": 42})
    assert (refused.code, said(refused)["detail"]) == (404, "There is no task 42.")


@pytest.mark.parametrize("task", ["", "x", "-1", "1/../2"])
async def test_only_numbers_are_tasks(ask, folder, task: str) -> None:
    assert (await ask("GET", "hai-lab/tensorboard", params={"task": task})).code == 400
    assert (await ask("POST", "hai-lab/tensorboard", send={"task": task})).code == 400
    assert (await ask("POST", "hai-lab/tensorboard", send=[task])).code == 400


@needs_proxy
@pytest.mark.usefixtures("stand_in", "begun", "installed")
async def test_the_page_comes_from_the_socket_without_this_servers_secrets(ask, jp_serverapp, folder) -> None:
    folder.mkdir(parents=True)
    (folder / "events").touch()
    made = said(await ask("POST", "hai-lab/tensorboard", send={"task": 41}))
    page = await ask("GET", f"hai-lab/{made['path']}data/runs?tag=a", headers={"X-XSRFToken": "s"})
    assert page.code == 200
    text = page.body.decode()
    assert f"{folder} /data/runs?tag=a" in text
    assert "cookie" not in text
    assert "authorization" not in text
    assert "xsrf" not in text
    # TensorBoard's page sends its questions without a token of Jupyter.
    assert (await ask("POST", f"hai-lab/{made['path']}data/plugin/scalars")).code == 200
    jp_serverapp.web_app.settings[handlers.SETTING].close()
    assert (await ask("GET", f"hai-lab/{made['path']}")).code in (404, 500)


@needs_proxy
@pytest.mark.usefixtures("stand_in", "begun", "installed")
async def test_nobody_gets_in_without_the_login(ask, stranger, jp_serverapp, folder) -> None:
    folder.mkdir(parents=True)
    (folder / "events").touch()
    made = said(await ask("POST", "hai-lab/tensorboard", send={"task": 41}))
    for method, path in (("GET", made["path"]), ("POST", f"{made['path']}x"), ("GET", "tensorboard?task=41")):
        assert (await stranger(method, f"hai-lab/{path}")).code in (302, 403), path
    jp_serverapp.web_app.settings[handlers.SETTING].close()


@needs_proxy
async def test_a_board_that_has_ended_says_so(ask) -> None:
    gone = await ask("GET", f"hai-lab/tensorboard/{'0' * 16}/")
    assert gone.code == 404
