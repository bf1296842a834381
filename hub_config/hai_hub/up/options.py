"""Parse and check the arguments of `hai up`."""

from __future__ import annotations

import argparse
import getpass
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NoReturn

from hai_client.cli.shared.parser import option
from hai_client.linux.identity import USERNAME
from hai_hub.config.addresses import AddressError, HubAddresses, addresses_of
from hai_hub.config.overrides import read_overrides
from hai_hub.shared.errors import wrong_input
from hai_hub.shared.state import checked_password, default_state_dir
from hai_hub.up.certificate import Certificate
from hai_hub.up.unix_users import SYSTEM_STATE_DIR

_USER: Final = re.compile(r"[a-z0-9_][a-z0-9._@-]{0,62}")
_MOST_NODES: Final = 10_000
#: Where the platform listens if neither an option nor a file says it.
_IP: Final = "127.0.0.1"
_PORT: Final = 8000
#: Options that name a file.
_FILES: Final = frozenset(("nodes_file", "scheduler_config", "hub_config", "certificate", "key"))
#: Options that are no option of the `hai up` of a unit; the state folder is written into it in any case.
_OF_SERVICES: Final = frozenset(
    ("install_service", "remove_service", "print", "service_user", "state_dir", "password", "user")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """What is to happen to the unit of systemd that runs `hai up`, instead of running it now."""

    action: Literal["install", "print", "remove"]
    account: str | None  #: Unix account that it shall run as; None: none was named.
    #: The other options as they were given, for the unit: one word each, paths absolute. The state folder is not there.
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `hai up`, checked as far as possible without changing anything."""

    port: int
    ip: str
    state_dir: Path
    user: str | None
    password: str | None = field(repr=False)
    nodes: int | None
    gpus_per_node: int | None
    nodes_file: Path | None
    scheduler_config: Path | None
    overrides_file: Path | None
    addresses: HubAddresses  #: What the file of overrides says of addresses.
    #: Pattern for the names of Unix accounts; empty: all users' processes run as the platform's own account.
    unix_users: str
    certificate: Certificate | None = None  #: With one, `ip` and `port` are for HTTPS.
    service: ServiceOptions | None = None  #: None: run the platform now.


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise a one-line error, as for every error of the command; argparse would print its usage first."""
        raise wrong_input(f"{message}; `hai up --help` shows how it is written")


def parse(argv: Sequence[str]) -> Options:
    """Return the options from the command line.

    Raises:
        UpError: An option is wrong; the message names it, its value and the remedy.
        SystemExit: The user asked for help.
    """
    words = _parser().parse_args(list(argv))
    if words.nodes_file is not None and (words.nodes is not None or words.gpus_per_node is not None):
        raise wrong_input("--nodes-file describes the nodes; leave out --nodes and --gpus-per-node")
    service = _service(words)
    overrides = _file("--hub-config", words.hub_config)
    addresses = HubAddresses() if overrides is None else _addresses(overrides)
    return Options(
        port=words.port or addresses.port or _PORT,
        ip=next(ip for ip in (words.ip, addresses.ip, _IP) if ip is not None),
        state_dir=_state_dir(words.state_dir, of_system=bool(words.unix_users) or (service is not None and is_root())),
        user=None if words.user is None else _user("--user", words.user),
        password=None if words.password is None else checked_password(words.password),
        nodes=words.nodes,
        gpus_per_node=words.gpus_per_node,
        nodes_file=_file("--nodes-file", words.nodes_file),
        scheduler_config=_file("--scheduler-config", words.scheduler_config),
        overrides_file=overrides,
        addresses=addresses,
        unix_users=words.unix_users,
        certificate=_certificate(words, overrides),
        service=service,
    )


def is_root() -> bool:
    """Return whether this process may install services of the whole machine."""
    return os.geteuid() == 0


def _service(words: argparse.Namespace) -> ServiceOptions | None:
    if words.install_service and words.remove_service:
        raise wrong_input("--install-service and --remove-service are opposites; leave one of them out")
    if not words.install_service:
        for name in ("print", "service_user"):
            if getattr(words, name):
                raise wrong_input(f"{_option(name)} belongs to --install-service; add that")
        if not words.remove_service:
            return None
    if words.password is not None:
        raise wrong_input(
            "--password: everybody on this machine can read a unit of systemd; leave it out: a password is generated, "
            "and kept in secrets/admin_password below the state folder"
        )
    action: Literal["install", "print", "remove"] = "print" if words.print else "install"
    return ServiceOptions(
        action="remove" if words.remove_service else action, account=words.service_user, words=_carried(words)
    )


def _certificate(words: argparse.Namespace, overrides: Path | None) -> Certificate | None:
    if (words.certificate is None) != (words.key is None):
        there, missing = ("--certificate", "--key") if words.key is None else ("--key", "--certificate")
        raise wrong_input(f"{there} needs {missing} beside it: HTTPS takes a certificate and its private key")
    file, key = _file("--certificate", words.certificate), _file("--key", words.key)
    if file is None or key is None:
        return None
    if overrides is not None and "proxy_class" in read_overrides(overrides).get("JupyterHub", {}):
        raise wrong_input(
            "--certificate is for the proxy of `hai up`; give it to that of JupyterHub.proxy_class instead"
        )
    return Certificate(file, key)


def _carried(words: argparse.Namespace) -> tuple[str, ...]:
    """Return the options that a unit gets, as one word each: a value may begin with a dash."""
    carried = []
    for name, value in vars(words).items():
        if name in _OF_SERVICES or value in (None, ""):
            continue
        shown = Path(value).expanduser().absolute() if name in _FILES else value
        carried.append(f"{_option(name)}={shown}")
    return tuple(carried)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _addresses(overrides: Path) -> HubAddresses:
    try:
        return addresses_of(read_overrides(overrides))
    except AddressError as error:
        raise wrong_input(f"--hub-config {overrides}: {error}") from error
    except ValueError as error:
        raise wrong_input(f"--hub-config {error}") from error


def _state_dir(given: str | None, *, of_system: bool) -> Path:
    if given is not None:
        return Path(given).expanduser().absolute()
    # Users' files are beside the state folder, and other accounts may not enter root's home.
    return SYSTEM_STATE_DIR if of_system else default_state_dir()


def login_name() -> str:
    """Return the login name of the user who runs `hai up`, as the Hub spells names.

    Raises:
        UpError: The name is not valid at the Hub, or the account has no name.
    """
    try:
        name = getpass.getuser()
    except (KeyError, OSError) as error:
        raise wrong_input("this account has no name; give one with --user") from error
    return _user("your login name", name)


def _user(what: str, name: str) -> str:
    lower = name.lower()
    if not _USER.fullmatch(lower):
        raise wrong_input(f"{what} {name!r} is no user name; use up to 63 letters, digits and . _ @ - with --user")
    return lower


def _file(option: str, name: str | None) -> Path | None:
    if name is None:
        return None
    path = Path(name).expanduser().absolute()
    if not path.is_file():
        raise wrong_input(f"{option} {name}: there is no such file")
    return path


def _whole(low: int, high: int) -> type[int]:
    """Return a converter for argparse that takes whole numbers from `low` to `high`."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
        return value

    return number  # type: ignore[return-value]


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="hai up",
        description="Start the whole platform on this machine and stay in the foreground; Ctrl-C stops it.",
        allow_abbrev=False,
    )
    option(parser, "--port N", f"port to listen on (default: {_PORT})", _whole(1, 65535))
    option(parser, "--ip ADDR", f"address to listen on (default: {_IP}, this machine only)")
    option(parser, "--state-dir DIR", "folder of the platform's files (default: $XDG_STATE_HOME/hai)")
    option(parser, "--user NAME", "the local user, who is administrator (default: your login name)")
    option(parser, "--password P", "the local user's password, at least 8 characters (default: generated once)")
    option(parser, "--nodes N", "number of nodes to divide this machine into", _whole(1, _MOST_NODES))
    option(parser, "--gpus-per-node N", "GPUs of each node", _whole(0, 1000))
    option(parser, "--nodes-file FILE", "TOML file that describes the nodes, instead of --nodes and --gpus-per-node")
    option(
        parser,
        "--unix-users TEMPLATE",
        "run each user's servers and tasks as the user's Unix account, whose name is the user's or follows the "
        "template, for example hub-{username}; needs root",
        nargs="?",
        const=USERNAME,
        default="",
    )
    option(parser, "--scheduler-config FILE", "configuration file of the scheduler service")
    option(parser, "--hub-config FILE", "TOML file with settings of JupyterHub: [Class] trait = value")
    option(parser, "--certificate FILE", "speak HTTPS on --ip and --port: the certificate and its authorities, in PEM")
    option(parser, "--key FILE", "private key of the certificate, in PEM")
    option(
        parser,
        "--install-service",
        "do not run it now: let systemd run it with the other options, now and whenever this machine starts; as root "
        "for the machine, else for your account. Again with other options: change them",
    )
    option(parser, "--print", "with --install-service: only print the unit of systemd")
    option(
        parser,
        "--service-user NAME",
        "with --install-service, as root: the Unix account that it runs as (default: hai, which is made)",
    )
    option(parser, "--remove-service", "stop that service and remove it; what it has kept stays")
    return parser
