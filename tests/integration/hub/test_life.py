"""Starting, stopping and being killed."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

from kit.waiting import wait_for

if TYPE_CHECKING:
    from conftest import Up

MINUTE = 60.0


def test_ctrl_c_tells_the_tasks_leaves_no_process_and_the_next_start_goes_on(fresh: Up) -> None:
    fresh.start()
    password, token, port = fresh.password, fresh.login["token"], _service_port(fresh)
    assert fresh.send(signal.SIGINT) == 0
    assert "Waiting for task digits (bob) to save and leave" in fresh.output
    assert "All tasks have left; they resume at the next start" in fresh.output
    assert fresh.left() == {}
    asked = [(call["call"], call["by"]) for call in fresh.calls]
    assert ("POST /cluster/pause", "ann") in asked
    assert json.loads(next(call["body"] for call in fresh.calls if "pause" in call["call"])) == {"grace_s": 25.0}

    fresh.start()
    assert [call["call"] for call in fresh.calls if "cluster/" in call["call"]][-1] == "POST /cluster/resume"
    assert (fresh.password, fresh.login["token"], _service_port(fresh)) == (password, token, port)

    assert fresh.send(signal.SIGTERM) == 0
    assert fresh.left() == {}


def test_a_signal_while_it_starts_stops_it_and_leaves_nothing(fresh: Up) -> None:
    process = fresh.launch()
    _wait_for_the_hub(fresh)
    process.send_signal(signal.SIGTERM)
    assert process.wait(MINUTE) == 130
    assert fresh.left() == {}


def test_a_service_that_refuses_its_settings_ends_it_with_the_services_own_line(fresh: Up) -> None:
    fresh.state.mkdir(mode=0o700)
    for name in ("hai.sqlite", "refuse"):  # the former marks the folder as one of HAI's
        (fresh.state / name).touch()
    process = fresh.launch()
    assert process.wait(MINUTE) == 2
    assert fresh.output.splitlines()[-1] == "hai up: hai-scheduler: nodes: 7 is one too many; take 6"
    assert fresh.left() == {}


def _service_port(up: Up) -> int:
    return int(json.loads((up.state / "state.json").read_text())["service_port"])


def _wait_for_the_hub(up: Up) -> None:
    wait_for("the Hub", lambda: any("-m hai_hub.up.hub " in line for line in up.left().values()))
