"""The local user's login: a token from the Hub, left where the `hai` command looks for it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from hai_client.errors import HaiError
from hai_client.settings import Settings, config_path, load, save
from hai_hub.api import Api, ApiError
from hai_hub.errors import UpError
from hai_hub.roles import LOCAL_TOKEN_SCOPES
from hai_hub.state import write_private


def log_in(url: str, user: str, up_token: str) -> Settings:
    """The login that is there already if it is still good, otherwise one with a new token.

    Args:
        url: The Hub's address.
        user: The local user, whom the Hub knows.
        up_token: Token of the service `hai-up`.

    Raises:
        UpError: The Hub gives no token.
    """
    kept = _kept()
    if kept is not None and (kept.url, kept.user) == (url, user) and kept.token and _is_good(kept):
        return kept
    wanted = {"note": "hai command on this machine", "scopes": list(LOCAL_TOKEN_SCOPES)}
    try:
        answer = Api(url + "/hub/api", up_token).post(f"/users/{quote(user, safe='')}/tokens", wanted)
        return Settings(url, str(answer["token"]), user)
    except (ApiError, KeyError, TypeError) as error:
        message = f"the Hub gave no token for {user}: {error}"
        raise UpError(message) from error


def keep(login: Settings) -> str | None:
    """Write the login for the `hai` command.

    Returns:
        A sentence when that replaces a login for another address, which is kept beside it; None otherwise.

    Raises:
        UpError: The file cannot be written.
    """
    path = config_path()
    said = None
    before = _kept()
    if path.exists() and (before is None or before.url != login.url):
        kept = path.with_name("config.before-up.json")
        try:
            write_private(kept, path.read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}; move it away"
            raise UpError(message) from error
        old = "something unreadable" if before is None else before.url
        said = f"`hai` was set up for {old}; it now speaks to {login.url}, and the old login is kept in {kept}"
    if before is None or (before.url, before.user, before.token) != (login.url, login.user, login.token):
        try:
            save(login)
        except HaiError as error:
            raise UpError(str(error)) from error
    return said


def _kept() -> Settings | None:
    """The login in the file, whatever the environment says; None where there is none that can be read."""
    try:
        return load(environ=_file_only())
    except HaiError:
        return None


def _file_only() -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(config_path().parent.parent)}


def _is_good(login: Settings) -> bool:
    try:
        who: Any = Api(login.hub_api_url, login.token).get("/user")
        held = {scope.partition("!")[0] for scope in who["scopes"]}
        return who.get("name") == login.user and {scope.partition("!")[0] for scope in LOCAL_TOKEN_SCOPES} <= held
    except (ApiError, KeyError, TypeError, AttributeError):
        return False
