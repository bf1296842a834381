"""`python -m hai_hub.up.hub`: run JupyterHub with `jupyterhub`'s own arguments, in half of the start time.

JupyterHub describes its events by JSON schemas. Importing jsonschema also imports a package for international addresses
(RFC 3987), which takes one of the two seconds of a start. jsonschema works without that package, and no schema of
JupyterHub or HAI uses such addresses.
"""

from __future__ import annotations

import sys
from typing import Any, Final, cast

#: The package that `import` must not find.
LEFT_OUT: Final = "rfc3987_syntax"


def main() -> None:
    """Run JupyterHub in this process."""
    # None makes the import fail as if the package were not installed.
    cast("dict[str, Any]", sys.modules).setdefault(LEFT_OUT, None)
    from jupyterhub.app import JupyterHub

    JupyterHub.launch_instance()


if __name__ == "__main__":
    main()
