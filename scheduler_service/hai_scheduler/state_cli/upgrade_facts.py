"""Finds out what `hai upgrade --plan` tells; it only reads, while the platform runs and while it does not."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from traitlets.config import Config, Configurable
from traitlets.config.loader import PyFileConfigLoader

from hai_client.api import Client
from hai_client.errors import HaiError, Invalid
from hai_client.http import Transport
from hai_client.linux.processes import fingerprint
from hai_scheduler import __version__
from hai_scheduler.adapters.local.look import look
from hai_scheduler.app.config import HaiScheduler
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.state_cli.upgrade_plan import Database, UpgradeFacts
from hai_scheduler.store.engine import parse
from hai_scheduler.store.revision import (
    FIRST,
    USABLE_FROM,
    USABLE_FROM_SAID,
    VERSION_TABLE,
    VERSIONS,
    StateDamaged,
    known,
    read_revision,
    takes,
)
from hai_scheduler.store.store import open_reader

#: Seconds that the platform gets to say its version.
_PATIENCE_S = 2.0
_PROCESSES = ("hub_process", "service_process", "loop_process")
_REVISION = f"SELECT version_num FROM {VERSION_TABLE}"  # noqa: S608  # our own word
_USABLE_FROM = f"SELECT value FROM hai_settings WHERE name = '{USABLE_FROM_SAID}'"  # noqa: S608  # our own word


def facts_of(state_dir: Path) -> UpgradeFacts:
    """Return what is there. Raises Invalid: the folder is none of HAI's, or cannot be read."""
    if not (state_dir / "state.json").is_file():
        raise Invalid(f"state-dir: {state_dir} is no folder of `hai up`; name the platform's with --state-dir")
    try:
        remembered = _object(state_dir / "state.json")
        # Those of the last start.
        file = state_dir / "hub" / "settings.json"
        settings = _object(file) if file.exists() else {}
        live = sum(run.live for run in look(state_dir / "runs"))
    except (OSError, ValueError) as error:
        raise Invalid(f"state-dir: {state_dir} cannot be read: {error}") from None
    runs = any(_lives(remembered.get(name)) for name in _PROCESSES)
    config = Path(settings["scheduler_config"]) if settings.get("scheduler_config") else None
    written = _config(config)
    database = _database(state_dir, str(written.get("HaiScheduler", {}).get("db_url", "")))
    return UpgradeFacts(
        installed=__version__,
        before=(_running(settings) if runs else None) or remembered.get("version"),
        runs=runs,
        state_dir=state_dir,
        database=database,
        newest=known()[-1],
        revisions=() if database.revision is None or database.problem else _added(database.revision),
        live_runs=live,
        config=config,
        unknown_settings=_unknown(written),
    )


def _object(file: Path) -> dict[str, Any]:
    """Return what a file of JSON holds. Raises OSError and ValueError."""
    found = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{file.name} holds no object")
    return found


def _lives(identity: object) -> bool:
    """Whether a process that `hai up` has noted lives."""
    pid, _, known_by = str(identity or "").partition(":")
    return pid.isdigit() and fingerprint(int(pid)) == known_by


def _running(settings: dict[str, Any]) -> str | None:
    """Return the version that the service tells everybody."""
    url = f"http://127.0.0.1:{settings.get('service_port')}{settings.get('base_url', '/')}services/hai/api/v1"
    try:
        return Client(transport=Transport(url, None, timeout_s=_PATIENCE_S, delays_s=())).health().version
    except HaiError:
        return None


def _config(file: Path | None) -> Config:
    """Return what the configuration file of the service sets. Raises Invalid."""
    if file is None:
        return Config()
    try:
        if file.suffix == ".json":
            return Config(json.loads(file.read_text(encoding="utf-8")))
        return PyFileConfigLoader(file.name, path=str(file.parent)).load_config()
    except Exception as error:  # noqa: BLE001  # the file is the admin's Python: anything may come out of it
        raise Invalid(f"{file} cannot be used: {type(error).__name__}: {error}") from None


def _unknown(written: Config) -> list[str]:
    """Return the settings that this code does not have."""
    classes: dict[str, type[Configurable]] = {}
    own: list[type[Configurable]] = [HaiScheduler, *HaiScheduler.classes]
    for one in own:
        classes |= {base.__name__: base for base in one.__mro__ if issubclass(base, Configurable)}
    # A trait of a base may be set by the name of the class that has it.
    return sorted(
        f"{section}.{name}"
        for section, traits in written.items()
        for name in traits
        if section not in classes or name not in classes[section].class_traits(config=True)
    )


def _database(state_dir: Path, db_url: str) -> Database:
    file = state_dir / "hai.sqlite"
    try:
        url = parse(db_url or f"sqlite:///{file}")
    except ValueError as error:
        raise Invalid(f"HaiScheduler.db_url: {error}") from None
    if is_file := url.get_backend_name() == "sqlite":
        file = Path(str(url.database))
    place = str(file) if is_file else url.render_as_string(hide_password=True)
    try:
        found = _of_file(file) if is_file else asyncio.run(_of_server(db_url))
    except ImportError as error:
        raise Invalid(f"HaiScheduler.db_url: {error.name} is missing: pip install 'hai-platform[postgres]'") from None
    except (sqlite3.Error, Temporary, StateDamaged, OSError) as error:
        # The driver of PostgreSQL tells more in further lines.
        why = str(error).partition("\n")[0]
        return Database(place=place, is_file=is_file, problem=f"{place} cannot be read ({why}): mend that first")
    if found is None:
        return Database(place=place, is_file=is_file)
    revision, usable_from = found
    problem = None
    if not takes(revision, usable_from):
        other = "start the version that has written it again" if revision >= FIRST else "move it away"
        problem = f"{place} is of revision {revision}, which version {__version__} cannot use: {other}"
    back = problem is None and revision < USABLE_FROM
    return Database(place=place, is_file=is_file, revision=revision, problem=problem, restore_to_go_back=back)


def _of_file(file: Path) -> tuple[str, str | None] | None:
    """Return revision and what is said of older code; None: there are no tables yet."""
    if not file.is_file() or not file.stat().st_size:
        return None
    # Without a write-ahead log nobody writes, and SQLite needs to make no file beside it.
    how = "mode=ro" if file.with_name(f"{file.name}-wal").exists() else "mode=ro&immutable=1"
    with contextlib.closing(sqlite3.connect(f"{file.resolve().as_uri()}?{how}", uri=True)) as read:
        (revision,) = read.execute(_REVISION).fetchone() or ("none",)
        said = read.execute(_USABLE_FROM).fetchone()
    return str(revision), said[0] if said else None


async def _of_server(url: str) -> tuple[str, str | None] | None:
    store = open_reader(url)
    try:
        return await read_revision(store.engine)
    finally:
        await store.close()


def _added(revision: str) -> Sequence[tuple[str, str]]:
    """Return the revisions after this one that the code knows, with the first line of what they say."""
    return [(number, _about(number)) for number in known() if number > revision]


def _about(number: str) -> str:
    (file,) = VERSIONS.glob(f"r{number}_*.py")
    return (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n")[0]
