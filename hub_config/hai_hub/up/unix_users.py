"""What `hai up --unix-users` needs before anything is started: rights, open folders, an account for the local user."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from hai_client.rank.identity import NoAccount, closed_folder, find_account, lacking_rights
from hai_hub.shared.errors import wrong_input

#: Where state is kept unless `--state-dir` says otherwise; users' own files are beside it, in `/var/lib/hai-users`.
SYSTEM_STATE_DIR: Final = Path("/var/lib/hai")


def require_rights(state_dir: Path) -> None:
    """See that this process may start others as other users, and that these find what they need.

    Args:
        state_dir: The state folder; it need not be there.

    Raises:
        UpError: It may not, or they would not; says what is needed.
    """
    if lacking := lacking_rights():
        message = (
            f"--unix-users starts processes of other users, and {', '.join(lacking)} is missing for that: start it as "
            "root (`sudo hai up --unix-users`), or without this option"
        )
        raise wrong_input(message)
    if closed := closed_folder(str(state_dir.parent)):
        message = (
            f"--unix-users: users' files are kept beside {state_dir}, and {closed} is closed to them; choose another "
            f"--state-dir, for example {SYSTEM_STATE_DIR}"
        )
        raise wrong_input(message)
    if closed := closed_folder(sys.executable):
        message = (
            f"--unix-users: users' servers need {sys.executable}, and {closed} is closed to them; install HAI, and its "
            "Python, where everybody may read it, for example below /opt"
        )
        raise wrong_input(message)


def require_account(template: str, user: str) -> None:
    """See that the local user has an account.

    Raises:
        UpError: There is none that could be used; says what to do.
    """
    try:
        find_account(template, user)
    except NoAccount as error:
        message = f"--unix-users: {error}; --user names the local user"
        raise wrong_input(message) from error
