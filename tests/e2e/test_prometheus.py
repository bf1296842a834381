"""Debian's real Prometheus reads a platform that works: every expression of every dashboard and alert finds data."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import Platform
from kit.ports import free_port
from kit.waiting import PATIENCE, wait_for
from monitoring.alerts import ALERTS
from monitoring.dashboards import DASHBOARDS

pytestmark = pytest.mark.e2e

#: What Grafana puts into the expressions of one platform without namespaces.
HERE = {"$namespace": ".*", "$__rate_interval": "10s"}
#: A label whose value says what goes wrong: it is there only when that has happened.
WRONG = re.compile(r', (?:reason|outcome|code)=~"[^"]*"')
ROUND = ("first", "second")
#: The alerts whose conditions may hold for seconds, where an alert needs them for a quarter of an hour and more: this
#: platform interrupts at once, and the machine may be busy with other tests.
PASSING = {"HaiNodeTimeLost", "HaiNoticesCut", "HaiApiSlow", "HaiDatabaseSlow"}


class Prometheus:
    """A Prometheus that reads one platform each second."""

    def __init__(self, program: str, folder: Path, platform: Platform) -> None:
        self.port = free_port()
        api = {"credentials": platform.token("ann"), "type": "Bearer"}
        config = {
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"},
            "scrape_configs": [
                {
                    "job_name": "hai",
                    "metrics_path": "/services/hai/api/v1/metrics",
                    "authorization": api,
                    "static_configs": [{"targets": [f"127.0.0.1:{platform.port}"]}],
                }
            ],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config))
        words = [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
        words += [f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"]
        self._log = (folder / "log").open("w")
        self._process = subprocess.Popen(words, stdout=self._log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._log.close()

    def values(self, expr: str) -> list[float]:
        """The values of all samples of an expression now. Raises OSError while it does not answer."""
        question = urllib.parse.urlencode({"query": expr})
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/query?{question}", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        assert found["status"] == "success", found
        return [float(sample["value"][1]) for sample in found["data"]["result"]]

    def has(self, expr: str) -> bool:
        """Whether an expression has a value that is a number."""
        try:
            return any(map(math.isfinite, self.values(expr)))
        except urllib.error.HTTPError as error:
            # It says 503 until it is ready.
            if error.code != 503:
                pytest.fail(f"{expr}: {error.read().decode()}")
            return False
        except OSError:
            return False


def _program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"no {name}: on Debian `make helm` fetches it, elsewhere put it on PATH")
    return found


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    _program("prometheus")
    folder = tmp_path_factory.mktemp("watched")
    config = folder / "scheduler.py"
    config.write_text("c.MetricsLabels.by_user = True\nc.SchedulingPolicy.min_run = '0s'\n")
    made = Platform(folder, nodes=2, options=("--scheduler-config", str(config)))
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def prometheus(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that has read a platform on which something happens: any of the tests can be run alone."""
    made = Prometheus(_program("prometheus"), tmp_path_factory.mktemp("prometheus"), platform)
    try:
        wait_for("Prometheus to read the platform", lambda: made.has("hai_ticks"))
        for name in ROUND:
            _interrupt(platform, name)
            seen = 'sum(hai_runs_ended_total{reason="user_stopped"})'
            wait_for("Prometheus to see it", lambda: made.has(f"{seen} > {ROUND.index(name)}"))  # noqa: B023
        # Something runs and something waits, so that there is a wait to be shown.
        for name in ("runs", "waits"):
            _submit(platform, name, "NORMAL", "sleep", "600")
        wait_for("the wait to be shown", lambda: made.has("hai_oldest_wait_seconds"))
        yield made
    finally:
        made.end()


def _metrics(platform: Platform) -> str:
    asked = urllib.request.Request(
        f"{platform.url}/services/hai/api/v1/metrics", headers={"Authorization": f"Bearer {platform.token('ann')}"}
    )
    with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
        return str(answer.read().decode())


def _is(platform: Platform, task: int, state: str) -> None:
    wait_for(f"task {task} to be {state}", lambda: platform.client().task(task).state == state)


def _submit(platform: Platform, name: str, priority: str, *command: str) -> int:
    """Submit a task for all nodes."""
    words = ("submit", "--nodes", "2", "--grace", "1s", "--name", name, "--priority", priority)
    return int(platform.json(*words, "--", *command)["id"])


def _interrupt(platform: Platform, name: str) -> None:
    """A task is interrupted by a more urgent one, goes on, and is stopped."""
    low = _submit(platform, f"{name}-low", "LOW", "sleep", "600")
    _is(platform, low, "running")
    high = _submit(platform, f"{name}-high", "HIGH", "sleep", "0.1")
    _is(platform, high, "succeeded")
    _is(platform, low, "running")
    platform.hai("stop", str(low))
    _is(platform, low, "stopped")


def _here(expr: str) -> str:
    for word, value in HERE.items():
        expr = expr.replace(word, value)
    return expr


def test_every_expression_finds_data(prometheus: Prometheus) -> None:
    expressions = {
        f"{dashboard.title}: {panel.title}": line.expr
        for dashboard in DASHBOARDS
        for row in dashboard.rows.values()
        for panel in row
        for line in panel.lines
    }
    assert len(expressions) > 25
    empty = [title for title, expr in expressions.items() if not prometheus.has(_wide(expr))]
    assert not empty, empty


def _wide(expr: str) -> str:
    """The expression over a time in which all of this has happened."""
    return _here(expr.replace("$__rate_interval", "5m"))


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_what_an_alert_looks_at_is_there(prometheus: Prometheus, alert: Any) -> None:
    prometheus.values(_here(alert.expr))
    for selector in re.findall(r"hai_[a-z_]+\{[^}]*\}", _here(alert.expr)):
        assert prometheus.values(WRONG.sub("", selector)), selector
        for label in re.findall(r"(\w+)=~", WRONG.search(selector)[0] if WRONG.search(selector) else ""):
            name = selector.partition("{")[0]
            assert prometheus.values(f'{name}{{{label}!=""}}'), f"{name} has no label {label}"


def test_no_alert_fires_on_a_healthy_platform(prometheus: Prometheus) -> None:
    firing = {alert.name for alert in ALERTS if prometheus.values(_here(alert.expr))}
    assert firing <= PASSING, firing


def test_promtool_finds_nothing_wrong_with_the_metrics(platform: Platform) -> None:
    text = _metrics(platform)
    done = subprocess.run(
        [_program("promtool"), "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stdout + done.stderr
    assert len([line for line in text.splitlines() if not line.startswith("#")]) < 2000
