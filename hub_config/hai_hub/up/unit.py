"""The unit of systemd that runs `hai up`: its text, written as systemd reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hai_hub.shared.errors import wrong_input

NAME: Final = "hai.service"
#: The first line of each unit that `hai up` has written.
MARK: Final = "# Written by `hai up --install-service`, which writes it again; changes of yours: systemctl edit hai"
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:=@,+-]+")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_QUOTES: Final = frozenset("\"'\\")
#: Where systemd makes folders of services.
_STATE_ROOT: Final = Path("/var/lib")
#: Ports below this one are for programs with more rights.
_PORTS_OF_ALL: Final = 1024

_SERVICE: Final = """\
# A start may take minutes on a cold disk, and ends when the platform answers.
Type=notify
TimeoutStartSec=300
# `hai up` tells the tasks to save and stops all the rest itself. If it is killed, tasks and servers go on:
# the next one takes them over.
KillMode=process
KillSignal=SIGINT
TimeoutStopSec=120
# 2: an option is wrong, or the port or the folder is in use; a restart would not help.
Restart=on-failure
RestartPreventExitStatus=2
RestartSec=5
# A task that takes too much memory is ended by the kernel: that is no reason to end the others.
OOMPolicy=continue
# All tasks and servers of users count here.
TasksMax=infinity
LimitNOFILE=65536
UMask=0022
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What a unit says."""

    program: Path  #: The command `hai`.
    words: Sequence[str]  #: The options of `hai up`, with the state folder.
    state_dir: Path
    account: str | None  #: The account of a service of the machine; None: a service of one user.
    port: int = _PORTS_OF_ALL  #: The lowest port that it listens on.

    def text(self) -> str:
        """Return the text of the file.

        Raises:
            UpError: A word cannot be written into a unit.
        """
        if _QUOTES & set(str(self.program)):
            message = (
                f"{self.program}: systemd runs no program whose path has quotes or backslashes; install HAI elsewhere"
            )
            raise wrong_input(message)
        of_machine = self.account is not None
        lines = [MARK, "[Unit]", "Description=HAI"]
        if of_machine:
            lines += ["Wants=network-online.target", "After=network-online.target remote-fs.target"]
        lines += [f"RequiresMountsFor={_quoted(str(self.state_dir), command=False)}", "", "[Service]"]
        if self.account is not None:
            lines.append(f"User={self.account}")
            if self.port < _PORTS_OF_ALL and self.account != "root":
                lines.append("AmbientCapabilities=CAP_NET_BIND_SERVICE")
            if self.state_dir.parent == _STATE_ROOT and _NAME.fullmatch(self.state_dir.name):
                lines += [f"StateDirectory={self.state_dir.name}", "StateDirectoryMode=0700"]
        start = [_quoted(str(self.program), command=False), "up", *(_quoted(word) for word in self.words)]
        lines += [f"ExecStart={' '.join(start)}", _SERVICE, "[Install]"]
        lines.append(f"WantedBy={'multi-user.target' if of_machine else 'default.target'}")
        return "\n".join(lines) + "\n"


def _quoted(word: str, *, command: bool = True) -> str:
    """Return a word as systemd reads it back: quotes and backslashes as in C, `%` doubled, and `$` in a command.

    Raises:
        UpError: systemd reads no such word.
    """
    if not word.isprintable():
        raise wrong_input(f"{word!r}: a unit of systemd takes no line break or control character; choose another name")
    if _PLAIN.fullmatch(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped.replace("$", "$$") if command else escaped}"'
