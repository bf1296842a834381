"""The shell of JupyterLab's terminals: a login shell, as the Lab's is, that keeps the server's PATH."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from hai_lab.terminals import SHELL_COMMAND, set_up

#: PATH of a server: its own programs first, HAI's versions of Slurm's commands last.
SERVER_PATH = "/platform/bin:/usr/bin:/platform/slurm"
#: A profile that replaces PATH, as /etc/profile of Debian does for all shells that read it.
PROFILE = 'PATH="/usr/bin:/bin:/site/bin"; export PATH; OF_PROFILE=read; export OF_PROFILE\n'
PROFILES = {"bash": ".profile", "sh": ".profile", "dash": ".profile", "zsh": ".zprofile", "fish": "none"}


def typed(line: str, home: Path, shell: str) -> list[str]:
    """What a terminal prints for a line."""
    env = {"PATH": SERVER_PATH, "HOME": str(home)} | ({"SHELL": shell} if shell else {})
    done = subprocess.run(SHELL_COMMAND, input=line + "\n", env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", [*PROFILES, ""])
def test_a_terminal_keeps_the_servers_path_whatever_a_profile_does(name: str, tmp_path: Path) -> None:
    shell = shutil.which(name) if name else ""
    if shell is None:
        pytest.skip(f"{name} is not installed")
    (tmp_path / PROFILES.get(name, ".profile")).write_text(PROFILE)
    path, seen, own = typed('echo "$PATH"; echo "$OF_PROFILE"; echo "$SHELL"', tmp_path, shell)
    places = path.replace(" ", ":").split(":")
    assert (places[0], places[-1]) == ("/platform/bin", "/platform/slurm")
    # fish reads no profile of another shell. What a profile adds is kept by the shells that read it.
    assert (seen, "/site/bin" in places) == (("", False) if name == "fish" else ("read", True))
    assert own == (shell or "/bin/sh")


def test_one_entry_on_the_path_is_enough(tmp_path: Path) -> None:
    (tmp_path / ".profile").write_text(PROFILE)
    env = {"PATH": "/platform/bin", "HOME": str(tmp_path), "SHELL": "/bin/sh"}
    done = subprocess.run(SHELL_COMMAND, input="echo $PATH\n", env=env, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("/platform/bin:")


def test_a_shell_that_an_administrator_or_a_user_has_set_stays() -> None:
    server = SimpleNamespace(terminado_settings={"shell_command": ["fish"], "max_terminals": 3})
    set_up(server)
    assert server.terminado_settings == {"shell_command": ["fish"], "max_terminals": 3}
