"""`hai up` waits until the loop, the API and the Hub answer, and says why it waits no longer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hai_client.errors import HaiError
from hai_hub.config.settings import HubSettings
from hai_hub.shared.errors import WRONG_INPUT, UpError
from hai_hub.shared.logs import LOOP_LOG
from hai_hub.up import ready
from hai_hub.up.ready import LONGEST_S, Interrupted, StartupCheck

LOOP, API, HUB, ROUTE = "loop", "api", "hub", "route"


class World:
    """Processes of a platform in virtual time: each answers from a moment on, None: never."""

    def __init__(self, settings: HubSettings) -> None:
        self.settings = settings
        self.now = 0.0
        self.count = 0
        self.up: dict[str, float | None] = {LOOP: 0, API: 0, HUB: 0, ROUTE: 0}
        self.tended = 0
        self.refusal: UpError | None = None
        self.asked: list[str] = []
        #: What is written to a log at a moment.
        self.writes: list[tuple[float, str, str]] = []
        self.interrupt_at: float | None = None

    def name_of(self, url: str) -> str:
        settings = self.settings
        names = {
            f"http://127.0.0.1:{settings.loop_port}/health/ready": LOOP,
            f"{settings.service_url}/services/hai/api/v1/health": API,
            f"{settings.url}/hub/health": HUB,
            f"{settings.url}/services/hai/api/v1/health": ROUTE,
        }
        return names.get(url, url)

    # The parts of the modules that are replaced.

    def own_platform(self, base: str, *, timeout_s: float) -> Any:
        assert timeout_s <= 1.0, "a process that is starting may accept a connection and answer later"
        world = self

        class Client:
            def call(self, method: str, path: str) -> None:
                name = world.name_of(base + path)
                world.asked.append(name)
                since = world.up[name]
                if since is None or world.now < since:
                    raise HaiError("no answer")

        return Client()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for at, name, text in [one for one in self.writes if one[0] <= self.now]:
            with (self.settings.log_dir / name).open("a") as file:
                file.write(text)
            self.writes.remove((at, name, text))
        if self.interrupt_at is not None and self.now >= self.interrupt_at:
            self.count = 1

    def tend(self) -> None:
        self.tended += 1
        if self.refusal is not None:
            raise self.refusal


@pytest.fixture
def world(settings: HubSettings, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(replace(settings, service_apart=True))
    made.settings.log_dir.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(ready, "own_platform", made.own_platform)
    monkeypatch.setattr(ready, "time", made)
    return made


def wait(world: World) -> None:
    anything: Any = world
    StartupCheck(world.settings, [anything], anything).wait()


def test_it_waits_for_the_loop_the_api_the_hub_and_the_route_between_them(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.up = {LOOP: 1, API: 2, HUB: 3, ROUTE: 5}
    wait(world)
    assert world.now == pytest.approx(5, abs=0.1)
    assert list(dict.fromkeys(world.asked)) == [LOOP, API, HUB, ROUTE]
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(" is up ")[0].strip() for line in said] == [
        "scheduling loop",
        "scheduler service",
        "JupyterHub",
    ]
    assert "(5." in said[-1], "seconds since the start"


def test_what_the_loop_has_found_of_the_gpus_is_said(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    (world.settings.log_dir / LOOP_LOG).write_text("2026 W hai_scheduler.adapters.local.gpus: of the last start\n")
    world.up[LOOP] = 11
    lines = "2026 W hai_scheduler.other: x\n2026 W hai_scheduler.adapters.local.gpus: the driver hangs\n"
    world.writes = [(10, LOOP_LOG, lines)]
    wait(world)
    said = capsys.readouterr().out.splitlines()
    assert "  the driver hangs" in said
    assert not any("of the last start" in line or line.endswith("x") for line in said)


def test_processes_that_end_are_restarted_meanwhile(world: World) -> None:
    world.up[API] = 1
    wait(world)
    assert world.tended >= 10


def test_a_platform_that_is_up_is_not_waited_for(world: World) -> None:
    wait(world)
    assert (world.now, world.tended) == (0, 0)


def test_the_loop_is_not_asked_for_where_the_hub_runs_the_service(world: World) -> None:
    world.settings = replace(world.settings, service_apart=False)
    wait(world)
    assert LOOP not in world.asked


@pytest.mark.parametrize("silent", [LOOP, API, HUB, ROUTE])
def test_one_that_does_not_answer_ends_the_wait_with_the_end_of_the_log(world: World, silent: str) -> None:
    (world.settings.log_dir / "hub.log").write_text("of an earlier start\n")
    world.up[silent] = None
    world.writes = [(1, "hub.log", "cannot bind\n")]
    with pytest.raises(UpError, match=f"did not answer .* within {LONGEST_S:.0f} s") as error:
        wait(world)
    assert world.now == pytest.approx(LONGEST_S, abs=0.2)
    assert error.value.detail == "cannot bind"


def test_a_wait_that_lasts_says_once_for_what_and_where(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.up[HUB] = 60.0
    wait(world)
    said = [line for line in capsys.readouterr().out.splitlines() if "waiting" in line]
    where = f"JupyterHub answers at {world.settings.url}, {LONGEST_S:.0f} s at most; logs: {world.settings.log_dir}"
    assert said == [f"  waiting until {where}"]


def test_a_signal_ends_the_wait(world: World) -> None:
    world.up[HUB], world.interrupt_at = None, 3
    with pytest.raises(Interrupted):
        wait(world)
    assert world.now == pytest.approx(3, abs=0.1)


def test_a_process_that_cannot_be_restarted_ends_the_wait(world: World) -> None:
    world.up[API], world.refusal = None, UpError("scheduling loop: wrong settings")
    with pytest.raises(UpError, match="wrong settings"):
        wait(world)


ENDED = "[W] Service hai exited with status {}\n"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("HAI_DB is 'x': write a URL\n", "HAI_DB is 'x': write a URL"),
        ("", f"Service hai exited with status {WRONG_INPUT}"),
    ],
    ids=["its own words", "no words"],
)
def test_a_service_of_the_hub_that_refuses_its_settings_ends_the_wait_with_its_last_line(
    world: World, said: str, message: str
) -> None:
    """The Hub would start it again and again."""
    world.settings = replace(world.settings, service_apart=False)
    world.up[API] = None
    world.writes = [(1, ready.API_LOG, f"starting\n{said}" if said else ""), (1, "hub.log", ENDED.format(WRONG_INPUT))]
    with pytest.raises(UpError) as error:
        wait(world)
    assert (str(error.value), error.value.exit_code) == (message, WRONG_INPUT)
    assert world.now < 2


@pytest.mark.parametrize("status", [1, -9, 20])
def test_a_service_of_the_hub_that_ends_otherwise_is_waited_for(world: World, status: int) -> None:
    world.settings = replace(world.settings, service_apart=False)
    world.up[API] = 5
    world.writes = [(1, "hub.log", ENDED.format(status))]
    wait(world)
    assert world.now == pytest.approx(5, abs=0.1)


def test_what_was_logged_before_this_start_is_left_out(world: World) -> None:
    world.settings = replace(world.settings, service_apart=False)
    (world.settings.log_dir / "hub.log").write_text(ENDED.format(WRONG_INPUT))
    world.up[API] = 1
    wait(world)
