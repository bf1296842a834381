"""TensorBoard over the server extension: what is there, what is missing, and who may look."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import httpx
import pytest

from hai_lab.boards import handlers

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


async def test_a_task_without_a_folder_has_nothing_for_it(lab, folder, installed) -> None:
    found = (await lab.ask("GET", "hai-lab/tensorboard?task=41")).json()
    assert found == {"folder": str(folder), "content": False, "advice": None}
    refused = await lab.ask("POST", "hai-lab/tensorboard", json={"task": 41})
    assert refused.status_code == 404
    assert f"There is nothing in {folder}" in refused.json()["detail"]
    assert "HAI_TENSORBOARD_DIR" in refused.json()["detail"]


async def test_what_is_missing_is_named_with_the_remedy(lab, folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True)
    (folder / "events").touch()
    monkeypatch.setattr(handlers, "missing", lambda: ["tensorboard"])
    found = (await lab.ask("GET", "hai-lab/tensorboard?task=41")).json()
    assert (found["content"], "tensorboard is not installed" in found["advice"]) == (True, True)
    refused = await lab.ask("POST", "hai-lab/tensorboard", json={"task": 41})
    assert refused.status_code == 503
    assert f"{sys.executable} -m pip install tensorboard; then start" in refused.json()["detail"]


async def test_a_task_that_the_user_may_not_see_has_no_board(lab, folder, installed) -> None:
    refused = await lab.ask("POST", "hai-lab/tensorboard", json={"task": 42})
    assert (refused.status_code, refused.json()["detail"]) == (404, "There is no task 42.")


@pytest.mark.parametrize("task", ["", "x", "-1", "1/../2"])
async def test_only_numbers_are_tasks(lab, folder, task: str) -> None:
    assert (await lab.ask("GET", "hai-lab/tensorboard", params={"task": task})).status_code == 400
    assert (await lab.ask("POST", "hai-lab/tensorboard", json={"task": task})).status_code == 400
    assert (await lab.ask("POST", "hai-lab/tensorboard", json=[task])).status_code == 400


@needs_proxy
@pytest.mark.usefixtures("stand_in", "begun", "installed")
async def test_the_page_comes_from_the_socket_without_this_servers_secrets(lab, folder) -> None:
    folder.mkdir(parents=True)
    (folder / "events").touch()
    made = (await lab.ask("POST", "hai-lab/tensorboard", json={"task": 41})).json()
    page = await lab.ask("GET", f"hai-lab/{made['path']}data/runs?tag=a", headers={"X-XSRFToken": "s"})
    assert page.status_code == 200
    assert f"{folder} /data/runs?tag=a" in page.text
    assert "cookie" not in page.text
    assert "authorization" not in page.text
    assert "xsrf" not in page.text
    # TensorBoard's page sends its questions without a token of Jupyter.
    assert (await lab.ask("POST", f"hai-lab/{made['path']}data/plugin/scalars")).status_code == 200
    lab.web_app.settings[handlers.SETTING].close()
    assert (await lab.ask("GET", f"hai-lab/{made['path']}")).status_code in (404, 500)


@needs_proxy
@pytest.mark.usefixtures("stand_in", "begun", "installed")
async def test_nobody_gets_in_without_the_login(lab, folder) -> None:
    folder.mkdir(parents=True)
    (folder / "events").touch()
    made = (await lab.ask("POST", "hai-lab/tensorboard", json={"task": 41})).json()
    for method, path in (("GET", made["path"]), ("POST", f"{made['path']}x"), ("GET", "tensorboard?task=41")):
        async with httpx.AsyncClient(trust_env=False) as stranger:
            response = await stranger.request(method, f"{lab.url}hai-lab/{path}")
        assert response.status_code in (302, 403), path
    lab.web_app.settings[handlers.SETTING].close()


@needs_proxy
async def test_a_board_that_has_ended_says_so(lab) -> None:
    gone = await lab.ask("GET", f"hai-lab/tensorboard/{'0' * 16}/")
    assert gone.status_code == 404
