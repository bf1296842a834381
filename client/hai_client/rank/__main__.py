"""Entry point: `python -m hai_client.rank [--pod] FOLDER`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def start(arguments: list[str]) -> NoReturn:
    """Supervise a rank, and leave the process with the exit status."""
    if arguments[:1] == ["--pod"]:
        from hai_client.rank.pod import main
    else:
        from hai_client.rank.keeper import main
    code = main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    # os._exit: threads may hang in a long poll, finalising costs milliseconds, and there is nothing to clean up.
    os._exit(code)


if __name__ == "__main__":
    start(sys.argv[1:])
