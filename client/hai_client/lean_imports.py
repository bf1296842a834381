"""What a process leaves out of its imports, so that it starts sooner."""

from __future__ import annotations

import contextlib
import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
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


@contextlib.contextmanager
def imports_for_good() -> Iterator[None]:
    """Import many modules without looking for garbage meanwhile; later looks leave them out as well.

    Modules make hundreds of thousands of objects and no garbage: looking for it takes a sixth of a start.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
