"""`python -m hai_hub.up.hub`: JupyterHub with `jupyterhub`'s own arguments, started in half of the time.

JupyterHub describes its events by JSON schemas, and the checker of those builds a grammar of international addresses
(RFC 3987) whenever it is imported: a second of a start that takes two. It does without where that package is not
installed; no schema of JupyterHub's or ours has such an address in it.
"""

from __future__ import annotations

import sys
from typing import Any, Final, cast

#: What is not to be found by `import`.
LEFT_OUT: Final = "rfc3987_syntax"


def main() -> None:
    """Run JupyterHub in this process."""
    # None makes the import fail as if it were not installed.
    cast("dict[str, Any]", sys.modules).setdefault(LEFT_OUT, None)
    from jupyterhub.app import JupyterHub

    JupyterHub.launch_instance()


if __name__ == "__main__":
    main()
