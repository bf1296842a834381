"""What the Hub makes of a server that is a task: over its own restarts, the scheduler's absence, and ends of turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kit.waiting import wait_for

if TYPE_CHECKING:
    from integration.spot.conftest import Rig


def ready(rig: Rig) -> None:
    wait_for("the server to be ready", lambda: rig.server().get("ready"))


def gone(rig: Rig) -> None:
    wait_for("the Hub to forget the server", lambda: not rig.server())


def submitted(rig: Rig, count: int) -> None:
    wait_for(f"{count} submissions", lambda: len(rig.scheduler.submitted) >= count)
    assert len(rig.scheduler.submitted) == count


def test_a_hub_that_is_killed_finds_a_server_that_is_up_and_leaves_it_as_it_is(rig: Rig) -> None:
    rig.request(gpus=2, priority="NORMAL")
    submitted(rig, 1)
    task = rig.scheduler.submitted[0]
    assert (task["name"], task["nodes"], task["gpus"], task["priority"]) == ("spot-gpu", 1, 2, "NORMAL")
    assert (task["profile"], task["grace_s"], task["tags"]) == ("sigterm", 300.0, ["spot"])
    assert sorted(task["env"]) == ["HAI_SPOT_PORT", "HAI_SPOT_SERVER", "HAI_SPOT_URL"]
    assert rig.server()["pending"] == "spawn"
    rig.launch(rig.scheduler.start(1))
    ready(rig)
    seen = rig.lab()
    assert (seen["JUPYTERHUB_USER"], seen["JUPYTERHUB_SERVER_NAME"], seen["HAI_SPOT"]) == ("ann", "gpu", "1")

    rig.kill_hub()
    rig.start_hub()
    ready(rig)
    assert rig.lab() == seen, "the same process: its user has noticed nothing"

    # A scheduler that is away says nothing about the server.
    rig.scheduler.away = True
    log = rig.home / "hub.log"
    wait_for("two looks", lambda: log.read_text().count("cannot be asked") >= 2)
    assert rig.server()["ready"]
    rig.scheduler.away = False

    # The turn ends: the Hub forgets the server and does not stop the task.
    rig.kill(rig.launchers[0])
    rig.scheduler.suspend(1)
    gone(rig)
    assert rig.scheduler.tasks[1]["state"] == "suspended"

    # The next turn: it is started by its run alone.
    rig.launch(rig.scheduler.start(1))
    ready(rig)
    submitted(rig, 1)
    assert rig.ask("DELETE", rig.path)[0] in (202, 204)
    wait_for("the task to be stopped", lambda: rig.scheduler.tasks[1]["state"] == "stopped")
    gone(rig)
    assert rig.secrets() == set()


def test_a_hub_that_is_killed_while_a_start_waits_starts_the_server_when_its_turn_comes(rig: Rig) -> None:
    rig.request()
    submitted(rig, 1)
    wait_for("the task to be kept", rig.kept)
    assert rig.server()["pending"] == "spawn"
    rig.kill_hub()
    rig.start_hub()
    assert rig.server() == {}
    rig.launch(rig.scheduler.start(1))
    ready(rig)
    submitted(rig, 1)


def test_a_start_takes_up_the_waiting_task_if_it_asks_for_the_same_and_gives_it_up_if_not(rig: Rig) -> None:
    rig.request(gpus=1)
    submitted(rig, 1)
    rig.launch(rig.scheduler.start(1))
    ready(rig)
    rig.kill(rig.launchers[0])
    rig.scheduler.suspend(1)
    gone(rig)

    rig.scheduler.tasks[1]["held"] = True
    rig.request(gpus=1)
    wait_for("the task to be resumed", lambda: not rig.scheduler.tasks[1]["held"])
    submitted(rig, 1)
    rig.launch(rig.scheduler.start(1))
    ready(rig)
    rig.kill(rig.launchers[1])
    rig.scheduler.suspend(1)
    gone(rig)

    rig.request(gpus=2)
    submitted(rig, 2)
    assert rig.scheduler.tasks[1]["state"] == "stopped"
    assert rig.ask("DELETE", rig.path, {"remove": True})[0] in (202, 204)
    wait_for("the task to be stopped", lambda: rig.scheduler.tasks[2]["state"] == "stopped")


def test_a_server_that_is_removed_while_its_task_waits_takes_the_task_with_it(rig: Rig) -> None:
    rig.request()
    submitted(rig, 1)
    rig.launch(rig.scheduler.start(1))
    ready(rig)
    rig.kill(rig.launchers[0])
    rig.scheduler.suspend(1)
    gone(rig)
    assert rig.ask("DELETE", rig.path, {"remove": True})[0] in (202, 204)
    wait_for("the task to be stopped", lambda: rig.scheduler.tasks[1]["state"] == "stopped")


def test_the_door_opens_to_the_run_of_the_servers_own_task_alone(rig: Rig) -> None:
    rig.request()
    submitted(rig, 1)
    rig.scheduler.tasks[9] = {"id": 9, "name": "other", "state": "running", "held": False, "runs": [{"id": "9.1"}]}
    run = rig.scheduler.start(1)

    def knock(token: str, server: object = "gpu", port: object = 4000) -> int:
        body = {"server": server, "port": port, "generation": None}
        return rig.ask("POST", "/hub/hai/spot", body, token=token)[0]

    assert knock("test-token") == 403, "a token of the Hub is no run's"
    assert knock(f"run:{run}:abcdef") == 410, "not this run's token"
    assert knock("run:9.1:abc123") == 410, "another task of the same user"
    assert knock(f"run:{run}:abc123", server="other") == 410
    assert knock(f"run:{run}:abc123", port=0) == 400
    assert rig.server()["pending"] == "spawn"

    rig.scheduler.away = True
    assert knock(f"run:{run}:abc123") == 503
    rig.scheduler.away = False
    rig.launch(run)
    ready(rig)


def test_a_task_that_is_stopped_while_it_waits_ends_the_start_with_the_reason(rig: Rig) -> None:
    rig.request()
    submitted(rig, 1)
    rig.scheduler.tasks[1] |= {"state": "stopped", "message": "Stopped by root."}
    gone(rig)
    assert "Task 1 has ended: Stopped by root." in (rig.home / "hub.log").read_text()


def test_a_start_that_waits_does_not_block_others_though_one_may_start_at_a_time(rig: Rig) -> None:
    rig.request()
    submitted(rig, 1)
    other = "/hub/api/users/ann/servers/other"
    wait_for("another start", lambda: rig.ask("POST", other, {"user_options": {"spot": {}}})[0] in (201, 202))
    submitted(rig, 2)
    assert rig.server()["pending"] == "spawn"
    assert rig.ask("DELETE", other, {"remove": True})[0] in (202, 204)
    wait_for("its task to be stopped", lambda: rig.scheduler.tasks[2]["state"] == "stopped")
    wait_for("it to be gone", lambda: "other" not in rig.ask("GET", "/hub/api/users/ann")[1]["servers"])
