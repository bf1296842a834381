"""What a process leaves out of its imports, so that it starts sooner."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The package with which jsonschema checks international addresses (RFC 3987). Its import makes 39 parsers, which takes
#: a second; jsonschema works without it.
ADDRESS_CHECKS = "rfc3987_syntax"


def leave_out_address_checks() -> None:
    """Make the import of `rfc3987_syntax` fail in this process, as if the package were not installed.

    JupyterHub, JupyterLab and nbformat import jsonschema for schemas that have no international address. Call it before
    they are imported.
    """
    modules: dict[str, Any] = sys.modules
    modules.setdefault(ADDRESS_CHECKS, None)
