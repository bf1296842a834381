"""`hai up`: the whole platform on this machine, in the foreground."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hai_client.errors import HaiError
from hai_client.http import Transport
from hai_client.linux.processes import become_subreaper
from hai_client.linux.rights import make_folder
from hai_client.settings import Settings
from hai_client.version import __version__
from hai_hub.config.overrides import read_overrides
from hai_hub.config.services import can_be_apart, loop_environment, service_command, service_environment
from hai_hub.config.settings import SETTINGS_VARIABLE, SPAWNER_TOKEN, HubSettings
from hai_hub.shared import cautions, ports
from hai_hub.shared.api import own_platform
from hai_hub.shared.console import Interrupts, complain, say
from hai_hub.shared.errors import UpError, wrong_input
from hai_hub.shared.logs import API_LOG, LOOP_LOG, rotate
from hai_hub.shared.state import ADMIN_PASSWORD, StateDir, haienv_root
from hai_hub.up import farewell, login, processes, welcome
from hai_hub.up.notify import Notify
from hai_hub.up.options import Options, login_name, parse
from hai_hub.up.ready import Interrupted, StartupCheck, hub_answers, loop_answers, service_answers
from hai_hub.up.restarter import Restarter
from hai_hub.up.service import change_service
from hai_hub.up.unix_users import require_account, require_rights

#: Seconds that the Hub has to stop its servers, and seconds that processes have which it leaves behind.
_HUB_STOPS_S: Final = 30.0
_REST_STOPS_S: Final = 3.0
#: Seconds that the scheduler service has to stop.
_SERVICE_STOPS_S: Final = 10.0
#: Seconds that a rank's supervisor has to end: it gives ten of them to the rank's command.
_RANKS_STOP_S: Final = 13.0
_INTERRUPTED: Final = 130
_TURN_S: Final = 0.5
#: Name of the secret with the local user's token while the `hai` command is logged in to another platform.
LOGIN: Final = "up_login"
#: Seconds between two checks while a process is starting again.
_STARTING_TURN_S: Final = 0.2
_ROTATE_EVERY_S: Final = 10.0
#: Prefixes of variables that another Hub or a login of the `hai` command has set, and that this Hub must not get.
_FOREIGN: Final = ("JUPYTERHUB_", "JPY_", "CONFIGPROXY_", "HAI_")
_CONFIG: Final = Path(__file__).parents[1] / "jupyterhub_config.py"


def command(argv: Sequence[str]) -> int:
    """Run `hai up` with these arguments.

    Returns:
        The exit code: 0 after Ctrl-C or SIGTERM, 130 if the signal came during the start, 1 when the platform failed,
        2 for wrong input or a port in use.
    """
    try:
        options = parse(argv)
        if options.unix_users:
            require_rights(options.state_dir)
            # All processes of the platform inherit it, so that accounts can write nothing of what it makes. What runs
            # as an account gets a umask of its own (`hai_client.linux.identity.become`).
            os.umask(0o022)
        if options.certificate is not None:
            options.certificate.check()
        if options.service is not None:
            return change_service(options, options.service)
        state = StateDir(options.state_dir)
        if not state.is_ours:
            # Checked before a folder is made. In a state folder, a killed `hai up` may have left the port in use.
            ports.require_free(options.ip, options.port)
        state.lock()
        try:
            _end_the_last(state)
            ports.require_free(options.ip, options.port)
            with Interrupts() as interrupts:
                return _Up(_settings(options, state), state, interrupts).run()
        finally:
            state.unlock()
    except SystemExit as asked_for_help:
        return int(asked_for_help.code or 0)
    except UpError as error:
        complain(f"hai up: {error}")
        if error.detail:
            complain(error.detail)
        return error.exit_code


def _settings(options: Options, state: StateDir) -> HubSettings:
    """Return the settings, from options and the last start; choose ports and make secrets that are missing."""
    user = options.user or state.remembered.user or login_name()
    if options.unix_users:
        require_account(options.unix_users, user)
    hub_port = _hub_port(options, state)
    local_port, https = options.port, options.certificate
    if https is not None:
        # Processes of this machine know it by no name of the certificate.
        local_port = ports.choose(state.remembered.local_port, {options.port, hub_port})
    taken = {options.port, local_port, hub_port}
    service_port = ports.choose(state.remembered.service_port, taken)
    # Not remembered: only this process uses the port.
    loop_port = ports.choose(None, {*taken, service_port})
    local = local_port if https else None
    state.remember(user=user, hub_port=hub_port, local_port=local, service_port=service_port, version=__version__)
    state.secret(ADMIN_PASSWORD, new=options.password)
    for name in ("cookie_secret", "service_token", SPAWNER_TOKEN, "up_token"):
        state.secret(name)
    return HubSettings(
        state_dir=state.path,
        user=user,
        ip="127.0.0.1" if https else options.ip,
        port=local_port,
        https_ip=options.ip if https else "",
        https_port=options.port if https else 0,
        certificate=https.file if https else None,
        certificate_key=https.key if https else None,
        base_url=options.addresses.base_url,
        hub_ip=options.addresses.hub_ip,
        hub_port=hub_port,
        service_port=service_port,
        loop_port=loop_port,
        nodes=options.nodes,
        gpus_per_node=options.gpus_per_node,
        nodes_file=options.nodes_file,
        scheduler_config=options.scheduler_config,
        overrides_file=options.overrides_file,
        unix_users=options.unix_users,
        haienv_root=haienv_root(state.path, options.unix_users),
        service_apart=_service_apart(options.overrides_file),
    )


def _hub_port(options: Options, state: StateDir) -> int:
    """Return the port of the Hub behind the proxy: that of `--hub-config`, else one that is free."""
    given = options.addresses.hub_port
    if given is None:
        return ports.choose(state.remembered.hub_port, {options.port})
    if given == options.port or not ports.is_free(options.addresses.hub_ip, given):
        message = f"--hub-config: JupyterHub.hub_port = {given}: the port is in use; choose another, or leave it out"
        raise wrong_input(message)
    return given


def _service_apart(overrides_file: Path | None) -> bool:
    try:
        return can_be_apart({} if overrides_file is None else read_overrides(overrides_file))
    except ValueError as error:
        raise wrong_input(str(error)) from error


def _end_the_last(state: StateDir) -> None:
    """End the Hub, the loop and the API that a killed `hai up` has left.

    The Hub gets SIGKILL: with SIGTERM it would stop the users' servers, which the next Hub takes over.
    """

    def left(known: str | None) -> list[int]:
        pid = processes.pid_of(known)
        return [] if pid is None else [pid]

    remembered = state.remembered
    processes.end_all(lambda: left(remembered.hub_process), patience_s=0.0, tick=lambda: None)
    processes.end_all(
        lambda: [*left(remembered.service_process), *left(remembered.loop_process)],
        patience_s=_REST_STOPS_S,
        tick=lambda: None,
    )


def hub_environment(environ: Mapping[str, str], settings_file: Path) -> dict[str, str]:
    """Return the environment of the Hub's process."""
    kept = {key: value for key, value in environ.items() if not key.startswith(_FOREIGN)}
    own_bin = str(Path(sys.executable).parent)
    path = [own_bin, *(part for part in kept.get("PATH", os.defpath).split(os.pathsep) if part != own_bin)]
    return kept | {"PATH": os.pathsep.join(path), SETTINGS_VARIABLE: str(settings_file), "PYTHONUNBUFFERED": "1"}


class _Up:
    """Starts the platform, keeps it running, and stops it."""

    def __init__(self, settings: HubSettings, state: StateDir, interrupts: Interrupts) -> None:
        self._settings = settings
        self._state = state
        self._interrupts = interrupts
        self._login: Settings | None = None
        self._notify = Notify()
        logs = settings.log_dir
        self._hub = Restarter(
            "JupyterHub", start=self._start_hub, answers=lambda: hub_answers(settings), log=logs / "hub.log"
        )
        #: The scheduling loop and the API; empty if the Hub starts and watches them.
        self._services: tuple[Restarter, ...] = ()
        if settings.service_apart:
            self._services = (
                Restarter(
                    "scheduling loop",
                    start=self._start_loop,
                    answers=lambda: loop_answers(settings),
                    log=logs / LOOP_LOG,
                    says_why=True,
                    forever=True,
                ),
                Restarter(
                    "scheduler service",
                    start=self._start_service,
                    answers=lambda: service_answers(settings),
                    log=logs / API_LOG,
                    says_why=True,
                    forever=True,
                ),
            )
        #: Children that this process had before: they do not belong to the platform.
        self._foreign: frozenset[int] = frozenset(processes.running_below(os.getpid()))

    def run(self) -> int:
        """Start the platform, keep it running until a signal, and stop it; returns the exit code."""
        began = time.monotonic()
        become_subreaper()
        rotate(self._settings.log_dir)
        say(f"Starting HAI in {self._settings.state_dir}")
        self._settings.save(self._settings.state_dir / "hub" / "settings.json")
        try:
            for restarter in self._restarters:
                restarter.begin()
            try:
                self._open(began)
            except Interrupted:
                say("Interrupted while starting")
                self._stop_both()
                self._end_ranks()
                return _INTERRUPTED
            return self._stay()
        finally:
            self._stop_processes()

    @property
    def _restarters(self) -> tuple[Restarter, ...]:
        return (*self._services, self._hub)

    @property
    def _environment(self) -> dict[str, str]:
        return hub_environment(os.environ, self._settings.state_dir / "hub" / "settings.json")

    def _start_hub(self) -> subprocess.Popen[bytes]:
        # -P: no file of the working folder is taken for a module.
        started = processes.start(
            [sys.executable, "-P", "-m", "hai_hub.up.hub", "-f", str(_CONFIG)],
            cwd=self._settings.state_dir / "hub",
            environ=self._environment,
            log=self._settings.log_dir / "hub.log",
            # With SIGTERM the Hub would stop the users' servers; the next Hub finds them again.
            farewell=signal.SIGKILL,
        )
        self._note(hub_process=processes.identity(started.pid))
        return started

    def _start_loop(self) -> subprocess.Popen[bytes]:
        started = processes.start(
            service_command(self._settings, "loop"),
            cwd=self._settings.state_dir / "hub",
            environ=loop_environment(self._settings, self._environment),
            log=self._settings.log_dir / LOOP_LOG,
        )
        self._note(loop_process=processes.identity(started.pid))
        return started

    def _start_service(self) -> subprocess.Popen[bytes]:
        started = processes.start(
            service_command(self._settings, "api"),
            cwd=self._settings.state_dir / "hub",
            environ=service_environment(self._settings, self._environment),
            log=self._settings.log_dir / API_LOG,
        )
        self._note(service_process=processes.identity(started.pid))
        return started

    def _note(self, **process: str | None) -> None:
        """Remember a process, in case this one is killed. Errors, such as a full disk, are ignored."""
        with contextlib.suppress(UpError):
            self._state.remember(**process)

    def _open(self, began: float) -> None:
        """Wait until all processes answer, log the local user in, end the last pause, and print what to do next."""
        StartupCheck(self._settings, self._restarters, self._interrupts).wait()
        settings = self._settings
        if settings.haienv_root is not None:
            # `haienv` in a terminal takes only a folder that is there.
            make_folder(settings.haienv_root)
        self._login = login.log_in(
            settings.url,
            settings.user,
            settings.secret("up_token"),
            settings.secret_file(LOGIN),
            haienv_root=settings.haienv_root,
            state_dir=settings.state_dir,
        )
        if said := login.keep(self._login, settings.secret_file(LOGIN)):
            say(f"  {said}")
        farewell.resume(self._api(), self._state)
        if caution := cautions.caution(root=os.geteuid() == 0, others=self._others(), apart=settings.users_are_apart):
            say(f"\n{textwrap.fill(caution, 100, break_on_hyphens=False)}")
        say(self._welcome(time.monotonic() - began))
        self._notify.ready()

    def _api(self) -> Transport:
        token = None if self._login is None else self._login.token
        return own_platform(self._settings.api_url, token)

    def _stay(self) -> int:
        """Restart processes that end, until a signal comes; then stop the platform. Returns the exit code."""
        rotated = time.monotonic()
        while not self._interrupts.count:
            for restarter in self._restarters:
                restarter.tend()
            self._reap()
            self._interrupts.sleep(_TURN_S if all(restarter.up for restarter in self._restarters) else _STARTING_TURN_S)
            if time.monotonic() - rotated > _ROTATE_EVERY_S:
                rotate(self._settings.log_dir)
                rotated = time.monotonic()
        say("\nStopping: running tasks are told to save")
        farewell.pause_and_wait(self._api(), self._state, self._interrupts, self._can_tell)
        self._stop_both()
        self._end_ranks()
        return 0

    def _can_tell(self) -> bool:
        """Return whether waiting for tasks makes sense: the processes that notify and observe them still run."""
        return all(one.runs for one in self._services) if self._services else self._hub.runs

    def _stop_both(self) -> None:
        """Stop the Hub, then the API, then the loop: the Hub stops spot containers, which are tasks, by the API."""
        if self._hub.runs:
            say("Stopping JupyterHub")
        self._hub.stop(_HUB_STOPS_S, self._reap)
        for one in reversed(self._services):
            one.stop(_SERVICE_STOPS_S, self._reap)

    def _end_ranks(self) -> None:
        """End ranks that did not leave in time: their supervisors get SIGTERM and record the end for the next start."""
        runs = self._settings.state_dir / "runs"
        processes.end_all(lambda: processes.supervisors(runs), patience_s=_RANKS_STOP_S, tick=self._reap)

    def _stop_processes(self) -> None:
        """End all processes of the platform except the supervisors of ranks, which outlive a Hub that failed."""
        self._stop_both()

        def left() -> list[int]:
            kept = processes.supervisors(self._settings.state_dir / "runs")
            spared = {*self._foreign, *kept}
            # Servers of users whose Hub was killed have lost their parent.
            lost = processes.servers(self._settings.server_mark, without=kept)
            return [*processes.running_below(os.getpid(), without=spared), *lost]

        processes.end_all(left, patience_s=_REST_STOPS_S, tick=self._reap)
        self._reap()
        self._note(hub_process=None, service_process=None, loop_process=None)

    def _reap(self) -> None:
        own = {restarter.pid for restarter in self._restarters if restarter.pid is not None}
        processes.reap(without={*own, *self._foreign})

    def _welcome(self, seconds: float) -> str:
        settings = self._settings
        gpus = self._gpus_of_nodes()
        nodes = "unknown" if gpus is None else welcome.nodes_of(gpus, welcome.real_gpus() if any(gpus) else 0)
        example = 1 if gpus is not None and len(gpus) == 1 else 2
        service = self._notify.is_service
        file, stop = settings.secret_file(ADMIN_PASSWORD), "`systemctl stop`" if service else "Ctrl-C"
        password = f"in {file}" if service else settings.secret(ADMIN_PASSWORD)
        if settings.overrides_file is not None:
            password += "   (unless the authenticator of --hub-config asks for another)"
        lines = [
            f"\nHAI is ready after {seconds:.1f} s.",
            "",
            *welcome.addresses(settings),
            f"  user      {settings.user}",
            f"  password  {password}",
            f"  nodes     {nodes}",
            f"  state     {settings.state_dir}",
            "",
            "Open the address and log in, or type in a second terminal:",
            "",
            *welcome.activation(),
            *self._exports(),
            *welcome.haienv_export(settings.haienv_root),
            f"  {_EXAMPLE.format(nodes=example, training=welcome.training())}",
            "  hai list",
            "  hai logs -f digits",
            "",
            f"{stop} stops everything; tasks that run are told to save, and resume at the next start.",
        ]
        if settings.ip not in ("127.0.0.1", "::1", "localhost"):
            lines += [f"It listens on {settings.ip} without encryption: only for networks that you trust."]
        return "\n".join(lines)

    def _exports(self) -> list[str]:
        """Return the lines to type before the example commands, if `hai` is logged in to another platform."""
        if self._login is None:
            return []
        return [f"  {line}" for line in login.exports(self._login, self._settings.secret_file(LOGIN))]

    def _others(self) -> int:
        """Return the number of users beside the admin; 0 if the Hub does not say."""
        token = None if self._login is None else self._login.token
        try:
            hub = own_platform(f"{self._settings.url}/hub/api", token)
            users: list[dict[str, Any]] = hub.call("GET", "/users", query={"limit": 200})
            return sum(user["name"] != self._settings.user for user in users)
        except (HaiError, KeyError, TypeError):
            return 0

    def _gpus_of_nodes(self) -> list[int] | None:
        """Return the number of GPUs of each node; None: the service does not say."""
        try:
            return [int(node["gpus"]) for node in self._api().call("GET", "/nodes")["items"]]
        except (HaiError, KeyError, TypeError, ValueError):
            return None


#: The first command to try.
_EXAMPLE: Final = "hai submit --nodes {nodes} --priority NORMAL --name digits -- python {training} --epochs 200"
