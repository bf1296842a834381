"""Check what `hai up --unix-users` needs: rights, readable folders, and an account for the local user."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import hai_client
from hai_client.linux.identity import NoAccount, closed_folder, find_account, lacking_rights
from hai_hub.shared.errors import wrong_input

#: The state folder unless `--state-dir` names another; users' own files are beside it, in `/var/lib/hai-users`.
SYSTEM_STATE_DIR: Final = Path("/var/lib/hai")


def require_rights(state_dir: Path) -> None:
    """Check that this process may start processes as other accounts, and that these can read Python and their files.

    Args:
        state_dir: The state folder; it need not exist.

    Raises:
        UpError: A right is missing, or a folder is closed to other accounts; the message says what is needed.
    """
    if lacking := lacking_rights():
        raise wrong_input(
            f"--unix-users starts processes of other users, and {', '.join(lacking)} is missing for that: start it as "
            "root (`sudo hai up --unix-users`), or without this option"
        )
    if closed := closed_folder(str(state_dir.parent)):
        raise wrong_input(
            f"--unix-users: users' files are kept beside {state_dir}, and {closed} is closed to them; choose another "
            f"--state-dir, for example {SYSTEM_STATE_DIR}"
        )
    for needed in (sys.executable, str(Path(hai_client.__file__).parent)):
        if closed := closed_folder(needed):
            raise wrong_input(
                f"--unix-users: users' servers need {needed}, and {closed} is closed to them; install HAI, and its "
                "Python, where all accounts may read it, for example below /opt"
            )


def require_account(template: str, user: str) -> None:
    """Check that the local user has a Unix account.

    Raises:
        UpError: There is no account that can be used; the message says what to do.
    """
    try:
        find_account(template, user)
    except NoAccount as error:
        raise wrong_input(f"--unix-users: {error}; --user names the local user") from error
