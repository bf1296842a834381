"""Log the local user in: get a token from the Hub, and store it where the `hai` command looks for it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from hai_client.errors import HaiError
from hai_client.settings import Settings, check_token, config_path, load, save
from hai_hub.config.roles import LOCAL_TOKEN_SCOPES
from hai_hub.shared.api import own_platform
from hai_hub.shared.errors import UpError
from hai_hub.shared.state import write_private

#: Seconds that another platform has to answer whether it runs.
_PATIENCE_S: Final = 2.0


def log_in(
    url: str, user: str, up_token: str, beside: Path, *, haienv_root: Path | None = None, state_dir: Path | None = None
) -> Settings:
    """Return the stored login if its token is still valid, else a login with a new token.

    Args:
        url: URL of the platform.
        user: Name of the local user, whom the Hub knows.
        up_token: Token of the service `hai-up`.
        beside: File for the token while the `hai` command is logged in to another platform.
        haienv_root: Folder of all environments of haienv, for `haienv` in a terminal.
        state_dir: Folder of the platform's files, for `hai backup`.

    Raises:
        UpError: The Hub gives no token.
    """
    root, state = (None if place is None else str(place) for place in (haienv_root, state_dir))
    for kept in (_kept(), _beside(url, user, beside)):
        if kept is not None and (kept.url, kept.user) == (url, user) and kept.token and _is_good(kept):
            return replace(kept, haienv_root=root, state_dir=state)
    wanted = {"note": "hai command on this machine", "scopes": list(LOCAL_TOKEN_SCOPES)}
    try:
        answer = own_platform(url + "/hub/api", up_token).call(
            "POST", f"/users/{quote(user, safe='')}/tokens", body=wanted
        )
        return Settings(url, str(answer["token"]), user, haienv_root=root, state_dir=state)
    except (HaiError, KeyError, TypeError) as error:
        raise UpError(f"the Hub gave no token for {user}: {error}") from error


def keep(login: Settings, beside: Path) -> str | None:
    """Store the login for the `hai` command, unless the command is logged in to another platform that runs.

    Args:
        login: The local user's login.
        beside: File for the token in that case.

    Returns:
        If the command had another login: a sentence that says which login it has now and how to change that. Else None.

    Raises:
        UpError: The file cannot be written.
    """
    path = config_path()
    before = _kept()
    if before is not None and replace(before, source=login.source) == login:
        return None
    said = None
    choose = f"hai login --url {login.url} --user {login.user}"
    if before is not None and before.url != login.url and before.token and _answers(before.url):
        write_private(beside, f"{login.token}\n")
        return (
            f"`hai` goes on speaking to {before.url}, which runs, as {before.user or 'before'}; for this platform: "
            f"`{choose}`, or for one terminal: {_export(login, beside)}"
        )
    if path.exists() and (before is None or (before.url, before.user) != (login.url, login.user)):
        kept = path.with_name("config.before-up.json")
        try:
            write_private(kept, path.read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            raise UpError(f"{path} cannot be read: {error.strerror}; move it away") from error
        old = "something unreadable" if before is None else f"{before.url} as {before.user or 'another user'}"
        said = (
            f"`hai` was set up for {old}, and now speaks to {login.url} as {login.user}; to go back, copy {kept}, "
            "where the old login is kept, over config.json beside it, or run `hai login` there"
        )
    try:
        save(login)
    except HaiError as error:
        raise UpError(str(error)) from error
    return said


def exports(login: Settings, beside: Path) -> list[str]:
    """Return the lines to type so that `hai` uses this platform; empty unless `keep` left the command another login."""
    kept = _kept()
    return [] if kept is not None and kept.url == login.url else [_export(login, beside)]


def _export(login: Settings, beside: Path) -> str:
    root = f" HAIENV_ROOT={shlex.quote(login.haienv_root)} HAIENV_USER={login.user}" if login.haienv_root else ""
    return f"export HAI_URL={login.url} HAI_TOKEN=$(cat {shlex.quote(str(beside))}){root}"


def _beside(url: str, user: str, beside: Path) -> Settings | None:
    try:
        return Settings(url, check_token(beside.read_text(encoding="utf-8")), user)
    except (OSError, UnicodeDecodeError, HaiError):
        return None


def _answers(url: str) -> bool:
    """Return whether a platform runs at an address. The request carries no token."""
    try:
        own_platform(url, timeout_s=_PATIENCE_S).call("GET", "/hub/health")
    except HaiError:
        return False
    return True


def _kept() -> Settings | None:
    """Return the login in the file, without the environment's; None if there is none that can be read."""
    try:
        return load(environ=_file_only())
    except HaiError:
        return None


def _file_only() -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(config_path().parent.parent)}


def _is_good(login: Settings) -> bool:
    try:
        who: Any = own_platform(login.hub_api_url, login.token).call("GET", "/user")
        held = {scope.partition("!")[0] for scope in who["scopes"]}
        return who.get("name") == login.user and {scope.partition("!")[0] for scope in LOCAL_TOKEN_SCOPES} <= held
    except (HaiError, KeyError, TypeError, AttributeError):
        return False
