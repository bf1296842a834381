"""The settings of a HAI hub on one machine. They hold no secret: secrets stay in files of their own."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from hai_client.settings import API_PATH as API_PATH
from hai_client.whole_files import write_whole

#: The environment variable that names the settings file of `jupyterhub_config.py`.
SETTINGS_VARIABLE: Final = "HAI_HUB_SETTINGS"
#: The service's name at the Hub, and with it its address: `/services/hai/`.
SERVICE_NAME: Final = "hai"
#: The secret with the token of the spawners.
SPAWNER_TOKEN: Final = "spawner_token"  # noqa: S105 - the name of a file
#: The scheduling loop's name at a Hub that starts it as a service. It has no URL there.
LOOP_NAME: Final = "hai-loop"

_PATHS: Final = (
    "state_dir",
    "nodes_file",
    "scheduler_config",
    "overrides_file",
    "haienv_root",
    "certificate",
    "certificate_key",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSettings:
    """The Hub's folder, ports and first user, and what the scheduler service is told."""

    state_dir: Path  #: Folder for everything that outlives the process; must exist.
    user: str  #: Name of the local user, who may log in and holds the role `hai-admin`.
    ip: str = "127.0.0.1"  #: Address to listen on.
    port: int = 8000  #: Port to listen on.
    #: A second address, for HTTPS: users come there, and processes of this machine to the first one.
    https_ip: str = ""
    https_port: int = 0  #: Its port; 0: there is none.
    certificate: Path | None = None  #: Its certificate, in PEM.
    certificate_key: Path | None = None  #: The key of that certificate, in PEM.
    base_url: str = "/"  #: Path below which the platform is, with slashes at both ends.
    hub_ip: str = "127.0.0.1"  #: Address that the Hub behind the proxy listens on.
    hub_port: int = 8081  #: Port of the Hub behind the proxy.
    service_port: int = 8082  #: Port of the scheduler service, on loopback.
    #: Port on which the scheduling loop tells its health, on loopback; 0: any free port, unused by HAI.
    loop_port: int = 0
    nodes: int | None = None  #: How many nodes to simulate; None: the service decides.
    gpus_per_node: int | None = None  #: GPUs of each simulated node; None: the service decides.
    nodes_file: Path | None = None  #: TOML file that describes the nodes; it replaces `nodes` and `gpus_per_node`.
    scheduler_config: Path | None = None  #: Configuration file of the scheduler service.
    #: Pattern for the names of the Unix accounts that users' servers and tasks run as; empty: all run as the platform's
    #: own account.
    unix_users: str = ""
    #: TOML file with a table for each class of JupyterHub, for all its other settings.
    overrides_file: Path | None = None
    #: Folder of all environments of haienv (HAIENV_ROOT); None: there are none for all.
    haienv_root: Path | None = None
    #: Whether `hai up`, not the Hub, starts and watches the scheduling loop and the API, so that they go on while the
    #: Hub restarts.
    service_apart: bool = False

    @property
    def bind_url(self) -> str:
        """The URL with the address and port that the platform listens on, and its path."""
        return f"http://{bracketed(self.ip)}:{self.port}{self.base_url}"

    @property
    def url(self) -> str:
        """The platform's URL as this machine reaches it, without a slash at its end."""
        return f"http://{_local(self.ip)}:{self.port}{self.base_url}".rstrip("/")

    @property
    def hub_bind_url(self) -> str:
        """The URL with the address and port that the Hub behind the proxy listens on."""
        return f"http://{bracketed(self.hub_ip)}:{self.hub_port}"

    @property
    def hub_api_url(self) -> str:
        """The URL of the Hub's REST interface, behind the proxy."""
        return f"http://{_local(self.hub_ip)}:{self.hub_port}{self.base_url}hub/api"

    @property
    def service_url(self) -> str:
        """The URL of the scheduler service behind the proxy."""
        return f"http://127.0.0.1:{self.service_port}"

    @property
    def service_prefix(self) -> str:
        """The path of the scheduler service, with slashes at both ends."""
        return f"{self.base_url}services/{SERVICE_NAME}/"

    @property
    def api_url(self) -> str:
        """The URL of the scheduler's REST interface, behind the proxy."""
        return f"{self.service_url}{self.base_url.rstrip('/')}{API_PATH}"

    @property
    def users_are_apart(self) -> bool:
        """Whether each user's servers and tasks run as a Unix account of the user's own."""
        return "{username}" in self.unix_users

    @property
    def server_mark(self) -> str:
        """The start of the environment variable by which the processes of this platform's user servers are found."""
        if self.unix_users:
            return f"HAI_API_URL={self.api_url}"
        return f"HOME={self.state_dir / 'home'}{os.sep}"

    def secret_file(self, name: str) -> Path:
        """Return the path of the file with the secret of that name; only its owner can read the file."""
        return self.state_dir / "secrets" / name

    def secret(self, name: str) -> str:
        """Return the secret of that name. Raises FileNotFoundError: the secret has not been made."""
        return self.secret_file(name).read_text(encoding="utf-8").strip()

    @property
    def log_dir(self) -> Path:
        """The folder of the logs."""
        return self.state_dir / "logs"

    def save(self, path: Path) -> None:
        """Write the settings as JSON to a file that only its owner can read."""
        plain = {key: str(value) if isinstance(value, Path) else value for key, value in asdict(self).items()}
        write_whole(path, json.dumps(plain, indent=2) + "\n")

    @classmethod
    def load(cls, path: Path) -> HubSettings:
        """Return the settings from a file that `save` wrote.

        Raises:
            OSError: The file cannot be read.
            ValueError: The file is not JSON, or has a key that is no setting.
        """
        plain: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if unknown := sorted(set(plain) - {item.name for item in fields(cls)}):
            raise ValueError(f"{path}: {', '.join(unknown)} is no setting; remove it")
        for name in _PATHS:
            if plain.get(name) is not None:
                plain[name] = Path(plain[name])
        return cls(**plain)

    @classmethod
    def from_environment(cls) -> HubSettings:
        """Return the settings from the file that `HAI_HUB_SETTINGS` names.

        Raises:
            ValueError: The variable is not set, or the file is wrong.
            OSError: The file cannot be read.
        """
        if not (name := os.environ.get(SETTINGS_VARIABLE)):
            raise ValueError(f"{SETTINGS_VARIABLE} is not set: it must name the JSON file with the Hub's settings")
        return cls.load(Path(name))


def _local(ip: str) -> str:
    """Return the address by which this machine reaches what listens on an address, as URLs write it."""
    return bracketed({"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(ip, ip))  # noqa: S104


def bracketed(ip: str) -> str:
    """Return an IP address as URLs write it: IPv6 in brackets."""
    return f"[{ip}]" if ":" in ip else ip
