"""What is pictured: who looks at which page, and what they do there before the picture is taken."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Final

from playwright.sync_api import Page

from hai_client import Client
from pictures.studio.camera import SLOW, Camera, settled
from pictures.studio.lab import ADMIN, LOOKER, WATCHED
from pictures.studio.stage import Lab, mount_rules


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One picture."""

    #: Of its file, without `.png`.
    name: str
    user: str = LOOKER
    #: The address within Studio; `{watched}` and the like in it are numbers of tasks.
    path: str = ""
    language: str = "en"
    theme: str = "light"
    #: What is done there first.
    act: Callable[[Lab, Page], None] | None = None
    #: The whole way, where it is not a page of Studio.
    way: Callable[[Lab, Page], None] | None = None


def performance(lab: Lab, page: Page) -> None:
    """Show what the task's GPUs did in all its turns."""
    page.get_by_test_id("hai-tab-performance").click()
    page.get_by_role("radio").last.check()
    page.get_by_test_id(re.compile("^hai-chart-")).first.wait_for()
    page.get_by_test_id("hai-tab-performance").evaluate("tab => tab.scrollIntoView({ block: 'center' })")


def choose_a_node(lab: Lab, page: Page) -> None:
    """Choose a node that is held."""
    page.get_by_role("listbox", name=re.compile("^Nodes of ")).last.get_by_role("option").nth(2).click()
    page.get_by_test_id("hai-node").wait_for()


def last_month(lab: Lab, page: Page) -> None:
    """Wait for the report."""
    page.get_by_test_id("hai-report").wait_for()


def try_policy(lab: Lab, page: Page) -> None:
    """Try longer turns, and wait for the result."""
    page.get_by_label("slice in force").fill("1h")
    page.get_by_label("Days to try").fill("7")
    page.get_by_role("button", name="Try it").click()
    trial = page.get_by_test_id("hai-trial")
    trial.wait_for(timeout=SLOW)
    # Below the navigation, which stays at the top.
    trial.evaluate("table => window.scrollBy(0, table.closest('.hai-Trial').getBoundingClientRect().top - 48)")


def with_rules(lab: Lab, page: Page) -> None:
    """Write the mount rules, and look at what a user sees by them."""
    mount_rules(lab)
    page.get_by_test_id("hai-mounts").wait_for()
    page.get_by_test_id("hai-seen").wait_for()
    settled(page)


def jupyterlab(lab: Lab, page: Page) -> None:
    """Log in to JupyterLab: the Launcher, with the panel beside it."""
    page.goto(f"{lab.url}/hub/spawn")
    page.wait_for_url(re.compile(r"/user/\w+/lab"), timeout=SLOW)
    page.locator(".jp-Launcher").wait_for()
    page.get_by_test_id("hai-tasks").get_by_test_id(re.compile("^hai-task-row-")).first.wait_for()
    page.get_by_test_id("hai-cluster").wait_for()
    settled(page)


VIEWS: Final = (
    View(name="studio-overview"),
    View(name="studio-overview-zh", language="zh"),
    View(name="studio-tasks", path="tasks?state=live"),
    View(name="studio-tasks-dark", path="tasks", theme="dark"),
    View(name="studio-task", path="tasks/{watched}"),
    View(name="studio-performance", path="tasks/{rotated}", act=performance),
    View(name="studio-waits", path="tasks/{waiting}"),
    View(name="studio-failed", path="tasks/{failed}"),
    View(name="studio-nodes", path="nodes", act=choose_a_node),
    View(name="studio-reports", path="reports?by=day&days=7", act=last_month),
    View(name="studio-environments", path="environments"),
    View(name="studio-notifications", path="notifications"),
    View(name="studio-nodes-dark", user=ADMIN, path="nodes", theme="dark", act=choose_a_node),
    View(name="studio-people", user=ADMIN, path="people?order=running"),
    View(name="studio-policy", user=ADMIN, path="policy", act=try_policy),
    View(name="studio-health", user=ADMIN, path="health"),
    View(name="studio-reports-admin", user=ADMIN, path="reports?by=user&days=30", act=last_month),
    View(name="studio-storage", user=ADMIN, path="storage?user=sofia", act=with_rules),
    View(name="studio-audit", user=ADMIN, path="audit"),
    View(name="lab-launcher", way=jupyterlab),
)


def _rotated(client: Client) -> int:
    """Return the number of the suspended task that has had the most turns and service."""
    tasks = [client.task(task.id) for task in client.tasks(state="suspended")]
    return max(tasks, key=lambda task: (len(task.runs) > 1, task.served_s)).id


#: The tasks that addresses name.
_TASKS: Final[Mapping[str, Callable[[Client], int]]] = {
    "watched": lambda client: client.task(WATCHED).id,
    "waiting": lambda client: next(task.id for task in client.tasks(state="queued") if not task.held),
    "rotated": _rotated,
    "failed": lambda client: client.task("llama-8b-lr3e-4").id,
}


def _address(lab: Lab, path: str) -> str:
    """Return the path with the numbers of the tasks that it names."""
    names = [name for _, name, _, _ in Formatter().parse(path) if name is not None]
    return path.format(**{name: _TASKS[name](lab.client(LOOKER)) for name in names})


def take(lab: Lab, camera: Camera, view: View) -> int:
    """Take one picture; returns its size in bytes."""
    page = camera.page(view.user, language=view.language, theme=view.theme)
    if view.way is not None:
        view.way(lab, page)
    else:
        camera.studio(page, _address(lab, view.path), view.user)
        if view.act is not None:
            view.act(lab, page)
            settled(page)
    return camera.take(page, view.name, view.user)
