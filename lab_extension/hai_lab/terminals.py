"""The shell of JupyterLab's terminals.

Jupyter starts a login shell, because a server that a Hub has started may lack what /etc/profile and ~/.profile set. On
Debian and others /etc/profile also replaces PATH: the commands of the platform, and its Python, would be gone.
"""

from __future__ import annotations

from typing import Any, Final

#: Runs after the profiles, with the server's PATH as `$1`: what was first and what was last on it stay so.
_KEEP_PATH: Final = 'PATH=${1%:*}:$PATH:${1##*:}; export PATH; exec "$0"'
#: Shells that take the line above. Others, such as fish, start without their profiles, and so with the server's PATH.
_KNOWN: Final = "bash|zsh|ksh|dash|sh"
_START: Final = f"""SHELL=${{SHELL:-/bin/sh}}; export SHELL
case ${{SHELL##*/}} in
  {_KNOWN}) exec "$SHELL" -l -c "$0" "$SHELL" "$PATH" ;;
  *) exec "$SHELL" ;;
esac"""
#: The user's shell is found in the server: the Hub does not know which shells an image has.
SHELL_COMMAND: Final = ("/bin/sh", "-c", _START, _KEEP_PATH)


def set_up(serverapp: Any) -> None:
    """Let terminals start so, unless the configuration names another command.

    Args:
        serverapp: The `jupyter_server.serverapp.ServerApp`, before its extensions are loaded.
    """
    serverapp.terminado_settings = {"shell_command": list(SHELL_COMMAND), **serverapp.terminado_settings}
