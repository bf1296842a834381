"""Runs the service: the scheduling loop or the API."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys

from hai_client.accepting import raise_file_limit
from hai_client.lean_imports import imports_for_good
from hai_client.linux.rights import make_folder
from hai_scheduler.app.config import ConfigError, Settings
from hai_scheduler.app.first_use import import_at_first_use
from hai_scheduler.app.service_secret import kept_secret
from hai_scheduler.app.starting import writable
from hai_scheduler.app.versions import warn_of_chart
from hai_scheduler.ports.secret import Secret

log = logging.getLogger(__name__)

#: Python's switch interval, in seconds: how long a thread may compute before other threads get the interpreter. Each
#: statement of the database changes threads several times, and would wait for Python's usual 5 ms each time.
SWITCH_S = 0.0005


async def serve(settings: Settings) -> None:
    """Run the process of the settings' role until SIGTERM or SIGINT.

    Runs go on without the process; the next start of the loop finds them.
    """
    stop = asyncio.Event()
    sys.setswitchinterval(SWITCH_S)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    before, now = raise_file_limit()
    if now != before:
        log.info("the limit of open files was raised from %d to %d", before, now)
    warn_of_chart()
    secret = _prepare_state(settings)
    # On Kubernetes a new pod has to be up before the old one is told to end.
    alone = settings.redis_url is None and settings.kubernetes is None
    # Each process imports what it runs alone: the REST interface takes a third of a second.
    if settings.role == "loop":
        with imports_for_good():
            from hai_scheduler.app.loop import serve_loop

        await serve_loop(settings, secret, stop, alone=alone)
    else:
        import_at_first_use("jupyterhub.orm")
        with imports_for_good():
            from hai_scheduler.app.api import serve_api

        await serve_api(settings, secret, stop, alone=alone)


def _prepare_state(settings: Settings) -> Secret:
    """Make the state folder; returns the service's secret."""
    with writable("state-dir", settings.state_dir, ConfigError):
        make_folder(settings.state_dir, 0o700)
        if settings.kubernetes is None:
            # Made here: if a rank made it together with its own folder, all accounts could read it.
            checkpoints = settings.state_dir / "checkpoints"
            checkpoints.mkdir(mode=0o700, exist_ok=True)
            checkpoints.chmod(0o700)
        return settings.service_secret or kept_secret(settings.state_dir / "service_secret")
