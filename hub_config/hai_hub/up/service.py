"""Install `hai up` as a service of systemd, for the machine or for one user, change it, and remove it."""

from __future__ import annotations

import difflib
import getpass
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hai_client.linux.identity import Account, account_named, closed_folder
from hai_client.linux.rights import make_folder
from hai_client.whole_files import write_whole
from hai_hub.shared.console import say
from hai_hub.shared.errors import UpError, wrong_input
from hai_hub.shared.state import StateDir
from hai_hub.up.options import Options, ServiceOptions, is_root, login_name
from hai_hub.up.unit import MARK, NAME, Unit
from hai_hub.up.unix_users import require_account

#: The account that is made where none is named.
OWN_ACCOUNT: Final = "hai"
_ACCOUNT: Final = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
_BOOTED: Final = Path("/run/systemd/system")
_LINGER: Final = Path("/var/lib/systemd/linger")
_SHELL: Final = "/bin/bash"


@dataclass(frozen=True, slots=True, kw_only=True)
class Systemd:
    """The systemd of this machine, as far as it is used here."""

    for_machine: bool  #: Whether it is the one of the machine, not of a user.
    folder: Path  #: Of the units.
    booted: bool  #: Whether it runs this machine.
    call: Callable[[Sequence[str]], int]  #: Runs a program and returns its exit status.

    @classmethod
    def of_this_process(cls) -> Systemd:
        """Return that of the machine for root, else that of the user."""
        config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        folder = Path("/etc/systemd/system") if is_root() else config / "systemd" / "user"
        return cls(for_machine=is_root(), folder=folder, booted=_BOOTED.is_dir(), call=_call)

    @property
    def file(self) -> Path:
        """The unit's file."""
        return self.folder / NAME

    @property
    def command(self) -> str:
        """The beginning of a command for users to type."""
        return "systemctl" if self.for_machine else "systemctl --user"

    def control(self, *words: str) -> bool:
        """Run `systemctl` with these words and return whether it succeeded."""
        return self.call([*self.command.split(), *words]) == 0


def _call(words: Sequence[str]) -> int:
    try:
        return subprocess.run(words, stdin=subprocess.DEVNULL, check=False).returncode
    except OSError as error:
        raise wrong_input(f"{words[0]} cannot be run: {error.strerror}; `--print` shows the unit") from error


def change_service(options: Options, wanted: ServiceOptions, systemd: Systemd | None = None) -> int:
    """Install, print or remove the service; returns the exit code.

    Args:
        options: The options of `hai up`.
        wanted: What is to happen.
        systemd: None: that of this machine.

    Raises:
        UpError: It cannot be done; nothing has been changed, unless the message says so.
    """
    systemd = systemd or Systemd.of_this_process()
    if wanted.action == "print":
        print(_unit(options, wanted, systemd).text(), end="")
        return 0
    if not systemd.booted:
        raise wrong_input(
            "systemd does not run this machine; `hai up --install-service --print` shows the unit, for another manager "
            "of services or another machine"
        )
    return _remove(systemd) if wanted.action == "remove" else _install(options, wanted, systemd)


def _unit(options: Options, wanted: ServiceOptions, systemd: Systemd) -> Unit:
    account = _account(options, wanted, systemd)
    user = options.user or _remembered_user(options.state_dir, account) or _whoever_asks()
    if options.unix_users:
        require_account(options.unix_users, user)
    words = (f"--state-dir={options.state_dir}", f"--user={user}", *wanted.words)
    return Unit(
        program=_program(account),
        words=words,
        state_dir=options.state_dir,
        account=account if systemd.for_machine else None,
        port=options.port,
    )


def _account(options: Options, wanted: ServiceOptions, systemd: Systemd) -> str:
    """Return the account that the service runs as, which may be still to make."""
    named = wanted.account
    if not systemd.for_machine:
        if named is not None:
            raise wrong_input("--service-user is for root; without root the service runs as your own account")
        return getpass.getuser()
    if options.unix_users:
        if named not in (None, "root"):
            message = f"--service-user {named}: with --unix-users the platform runs as root; leave it out"
            raise wrong_input(message)
        return "root"
    if named is None:
        return OWN_ACCOUNT
    if not _ACCOUNT.fullmatch(named) or account_named(named) is None:
        raise wrong_input(f"--service-user {named!r}: there is no such account; make it, or leave the option out")
    return named


def _remembered_user(state_dir: Path, account: str) -> str | None:
    """Return the local user of an earlier start. Raises UpError if the account cannot use the state folder."""
    known = account_named(account)
    if not os.path.lexists(state_dir):
        return None
    # An account that is still to make owns nothing.
    return StateDir(state_dir, -1 if known is None else known.uid).remembered.user


def _whoever_asks() -> str:
    asked = os.environ.get("SUDO_USER")
    return asked.lower() if asked else login_name()


def _program(account: str) -> Path:
    """Return the command `hai` beside this Python. Raises UpError: it is not there, or closed to the account."""
    program = Path(sys.executable).with_name("hai")
    if not program.is_file():
        raise wrong_input(f"{program} is missing: install HAI into an environment of its own, and use that one's `hai`")
    known = account_named(account)
    if (known is None or known.uid != os.geteuid()) and (closed := closed_folder(sys.executable)):
        raise wrong_input(
            f"the account {account} needs {program}, and {closed} is closed to it; install HAI, and its Python, where "
            "all accounts may read it, for example below /opt"
        )
    return program


def _install(options: Options, wanted: ServiceOptions, systemd: Systemd) -> int:
    unit = _unit(options, wanted, systemd)
    text, before = unit.text(), _before(systemd.file)
    account = _make_account(options, unit.account, systemd)
    for file in _files(options):
        if file is not None and not _may(account, "-r", file):
            name = unit.account
            raise wrong_input(f"{file}: the account {name} cannot read it; give it to that account, mode 0600")
    _make_state_dir(unit, account)
    _write(systemd, text, before)
    if not (systemd.control("daemon-reload") and systemd.control("enable", "--now", "hai")):
        raise UpError(
            f"{systemd.file} is written, and systemd could not start it; see `{_journal(systemd)} -n 50`. When the "
            "cause is gone: the same command again, or `hai up --remove-service`"
        )
    _tell(options, systemd, changed=before is not None and before != text)
    return 0


def _files(options: Options) -> Iterator[Path | None]:
    """Return the files that the service reads; None: there is none of that kind."""
    yield from (options.nodes_file, options.scheduler_config, options.overrides_file)
    if options.certificate is not None:
        yield from (options.certificate.file, options.certificate.key)


def _before(file: Path) -> str | None:
    """Return the text of the unit that is there; None: there is none. Raises UpError: somebody else has written it."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise wrong_input(f"{file} cannot be read: {error.strerror}") from error
    if not text.startswith(MARK.partition(",")[0]):
        raise wrong_input(f"{file} was not written by `hai up --install-service`; move it away first")
    return text


def _make_account(options: Options, name: str | None, systemd: Systemd) -> Account | None:
    """Return the account of a service of the machine, which is made if it is the platform's own; None: no other."""
    if name is None:
        return None
    if account_named(name) is None:
        home = str(options.state_dir)
        # Terminals of JupyterLab run the account's shell. Nobody can log in: there is no password.
        words = ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", home, "--shell", _SHELL, name]
        if systemd.call(words) != 0:
            raise UpError(f"the account {name} could not be made; make it by hand, or name another: --service-user")
        say(f"The account {name} is made.")
    found = account_named(name)
    if found is None:
        raise UpError(f"the account {name} is not there although `useradd` has succeeded")
    return found


def _may(account: Account | None, test: str, path: Path) -> bool:
    """Return whether an account passes a test of `test`, such as `-r`, for a path; None: this process's account."""
    if account is None or account.uid == os.geteuid():
        return True
    return not subprocess.run(
        ["test", test, str(path)],  # noqa: S607
        user=account.uid,
        group=account.gid,
        extra_groups=account.groups,
        cwd="/",
        check=False,
    ).returncode


def _make_state_dir(unit: Unit, account: Account | None) -> None:
    folder = unit.state_dir
    try:
        made = make_folder(folder, 0o700)
        if made and account is not None:
            os.chown(folder, account.uid, account.gid)
        if not _may(account, "-w", folder):
            if made:
                folder.rmdir()
            raise wrong_input(f"--state-dir {folder}: the account {unit.account} cannot enter it; choose another one")
    except OSError as error:
        raise wrong_input(f"--state-dir {folder}: cannot be made: {error.strerror}") from error


def _write(systemd: Systemd, text: str, before: str | None) -> None:
    if before == text:
        say(f"{systemd.file} is as it was")
        return
    try:
        make_folder(systemd.folder)
        write_whole(systemd.file, text, on_disk=True)
        systemd.file.chmod(0o644)
    except OSError as error:
        raise wrong_input(f"{systemd.file} cannot be written: {error.strerror}") from error
    if before is None:
        say(f"{systemd.file} is written")
        return
    say(f"{systemd.file} is changed:")
    for line in difflib.unified_diff(before.splitlines(), text.splitlines(), n=0, lineterm=""):
        if not line.startswith(("---", "+++", "@@")):
            say(f"  {line}")


def _journal(systemd: Systemd) -> str:
    return "journalctl -u hai" if systemd.for_machine else "journalctl --user -u hai"


def _tell(options: Options, systemd: Systemd, *, changed: bool) -> None:
    sudo = "sudo " if systemd.for_machine else ""
    say(f"HAI runs, and starts with {'this machine' if systemd.for_machine else 'your first login'}.\n")
    if changed:
        say(
            f"Until `{systemd.command} restart hai` it runs with the options from before. Tasks save, and go on then.\n"
        )
    say(f"  password  {sudo}cat {options.state_dir / 'secrets' / 'admin_password'}")
    say(f"  address   {_journal(systemd)}")
    say(f"  stop      {systemd.command} stop hai")
    name = getpass.getuser()
    if not systemd.for_machine and not (_LINGER / name).exists():
        say(
            f"\nIt ends when you log out. To let it run, and start with the machine: sudo loginctl enable-linger {name}"
        )


def _remove(systemd: Systemd) -> int:
    if _before(systemd.file) is None:
        say(f"There is no {systemd.file}: nothing to remove")
        return 0
    if not systemd.control("disable", "--now", "hai"):
        raise UpError(f"systemd could not stop the service; nothing is removed; see `{_journal(systemd)} -n 50`")
    systemd.file.unlink()
    systemd.control("daemon-reload")
    say(f"HAI is stopped, and {systemd.file} is removed. Its state folder and its account stay.")
    return 0
