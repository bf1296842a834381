"""The client's settings, address and token: arguments win over the environment, which wins over the file.

A token belongs to an address. The token in the file is sent only to the address in the file, not to an address from
an argument or the environment.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hai_client.backports import dataclass
from hai_client.errors import Invalid, NotLoggedIn
from hai_client.linux.rights import make_folder
from hai_client.whole_files import write_whole

DEFAULT_URL = "http://127.0.0.1:8000"
API_PATH = "/services/hai/api/v1"
#: What is kept beside the login: folders of a platform on this machine, and the login's end.
_BESIDE = ("haienv_root", "state_dir", "ends")
_TOKEN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Settings:
    """The address of a Hub and the token to use there."""

    url: str  #: The Hub's address, without a slash at the end.
    token: str | None = field(default=None, repr=False)  #: Never shown in a repr, an error or a log.
    user: str | None = None  #: The user that the token belongs to, if known.
    #: Where the token came from: `argument`, the name of an environment variable, or the path of the file.
    source: str | None = None
    #: The folder of all environments of haienv, where the platform runs on this machine: `haienv` finds it in the file.
    haienv_root: str | None = None
    state_dir: str | None = None  #: The folder of the platform's files, where `hai up` has written the login.
    ends: str | None = None  #: Until when the token is good, as ISO 8601; None: it has no end, or it is not known.

    @property
    def api_url(self) -> str:
        """The address of the REST interface."""
        return self.url + API_PATH

    @property
    def hub_api_url(self) -> str:
        """The address of the Hub's own REST interface."""
        return f"{self.url}/hub/api"


def config_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return the path of the file with the address and the token: `$XDG_CONFIG_HOME/hai/config.json`."""
    env = os.environ if environ is None else environ
    base = env.get("XDG_CONFIG_HOME", "")
    # The XDG specification says to ignore relative paths.
    folder = Path(base) if base.startswith("/") else Path(env.get("HOME") or Path.home()) / ".config"
    return folder / "hai" / "config.json"


def check_url(text: str, *, name: str = "url") -> str:
    """Return the Hub's address in its normal form.

    The address of a page, copied from a browser, is accepted: `http://host:8000/hub/home` is `http://host:8000`.

    Raises:
        Invalid: The text is not an http or https address, or holds a password.
    """
    url = text.strip()
    wrong = Invalid(f"{name}: {url!r} is not an address; write for example {DEFAULT_URL}")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise wrong from None
    if "@" in parts.netloc:
        raise Invalid(f"{name}: an address must not hold a user or a password; `hai login` asks for them")
    if parts.scheme not in ("http", "https") or not host or re.search(r"[\s\x00-\x1f]", url):
        raise wrong
    path = re.split(r"/(?:hub|services/hai|user)(?:/|$)", parts.path + "/", maxsplit=1)[0].rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path}"


def check_token(text: str, *, name: str = "token") -> str:
    """Return the token without white space around it.

    Raises:
        Invalid: The token is empty or has characters that no token has. The message does not show the token.
    """
    token = text.strip()
    if _TOKEN.fullmatch(token) is None:
        raise Invalid(f"{name}: not a token (empty, or with spaces in it); `hai login` gets one")
    return token


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            text = file.read()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"config: {path} cannot be read ({error}); mend it or run `hai login --url ADDRESS`") from None
    if mode & 0o077:
        raise Invalid(f"config: {path} holds a token and others may read it; run: chmod 600 {path}")
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise Invalid(f"config: {path} is not a JSON object of texts; run `hai login --url ADDRESS`")
    return found


def load(*, url: str | None = None, token: str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Find the address and the token.

    Args:
        url: The Hub's address, if given as an argument.
        token: The token, if given as an argument.
        environ: The environment (default: the process's own). `HAI_URL` and `HAI_TOKEN` are read; inside a
            server of the Hub `JUPYTERHUB_API_TOKEN` is used with `HAI_URL`.

    Returns:
        The settings; the token is None where no token belongs to the address.

    Raises:
        Invalid: A value is wrong.
        NotLoggedIn: There is no address.
    """
    env = os.environ if environ is None else environ
    path = config_path(env)
    given = check_url(url) if url else None
    from_env = check_url(env["HAI_URL"], name="HAI_URL") if env.get("HAI_URL") else None
    if token:
        found: tuple[str, str] | None = (check_token(token), "argument")
    elif env.get("HAI_TOKEN"):
        found = (check_token(env["HAI_TOKEN"], name="HAI_TOKEN"), "HAI_TOKEN")
    elif env.get("JUPYTERHUB_API_TOKEN") and from_env and given in (None, from_env):
        name = "JUPYTERHUB_API_TOKEN"
        found = (check_token(env[name], name=name), name)
    else:
        found = None
    # Read the file only if it is needed: a broken file must not stop a user who gives all by arguments.
    kept = {} if found and (given or from_env) else _read(path)
    kept_url = check_url(kept["url"], name=f"url in {path}") if kept.get("url") else None
    address = given or from_env or kept_url
    if address is None and env.get("HAI_RUN_ID"):
        raise NotLoggedIn(
            "url: a task has no login, and speaks of itself alone (hai_client.job); run `hai` where you are logged in, "
            "in JupyterLab or a terminal"
        )
    if address is None:
        raise NotLoggedIn(f"url: no platform is known; run `hai login --url {DEFAULT_URL}` or set HAI_URL")
    if found:
        return Settings(address, found[0], None, found[1])
    if kept.get("token") and address == kept_url:
        beside = {name: kept.get(name) or None for name in _BESIDE}
        return Settings(address, check_token(kept["token"]), kept.get("user"), str(path), **beside)
    return Settings(address)


def kept(url: str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the login in the file, whatever variables say; without a token where there is none for the address.

    Raises:
        Invalid: The file is wrong.
        NotLoggedIn: It holds no address.
    """
    env = os.environ if environ is None else environ
    return load(url=url, environ={name: env[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in env})


def folder_here(name: str, environ: Mapping[str, str]) -> str | None:
    """Return a folder of the platform that `hai` is logged in to; None: that platform does not run on this machine.

    Args:
        name: `haienv_root` or `state_dir`, as in `Settings`.
        environ: The environment; HAI_URL may name another platform.

    Raises:
        Invalid: The file is wrong.
    """
    kept = _read(config_path(environ))
    folder = kept.get(name, "")
    elsewhere = environ.get("HAI_URL") and check_url(environ["HAI_URL"], name="HAI_URL") != kept.get("url")
    return folder if os.path.isdir(folder) and not elsewhere else None  # noqa: PTH112


def save(settings: Settings, *, environ: Mapping[str, str] | None = None) -> Path:
    """Write the file, complete or not at all, readable only for its owner.

    Returns:
        The path of the file.

    Raises:
        Invalid: The file cannot be written.
    """
    path = config_path(environ)
    body = {"url": settings.url, "user": settings.user or "", "token": settings.token or ""}
    body.update({name: getattr(settings, name) for name in _BESIDE if getattr(settings, name)})
    try:
        # The XDG specification asks for 0700 for the folders above too.
        make_folder(path.parent, 0o700, above=0o700)
        path.parent.chmod(0o700)
        write_whole(path, json.dumps(body, indent=2) + "\n", on_disk=True)
    except OSError as error:
        raise Invalid(f"config: {path} cannot be written ({error.strerror}); set XDG_CONFIG_HOME") from None
    return path


def forget(environ: Mapping[str, str] | None = None) -> Path:
    """Take the login out of the file; the address stays. Returns the path of the file. Raises Invalid, as `save`."""
    return save(Settings(kept(environ=environ).url), environ=environ)
