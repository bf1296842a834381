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
    they are imported. The Hub's imports take 0.7 s of a processor then, not 1.5 s, and 98 MiB, not 113; those of a
    JupyterLab server as much less; nbformat 0.1 s, not 0.8 s.
    """
    modules: dict[str, Any] = sys.modules
    modules.setdefault(ADDRESS_CHECKS, None)


@contextlib.contextmanager
def imports_for_good() -> Iterator[None]:
    """Import many modules without looking for garbage meanwhile; later looks leave them out as well.

    Modules make hundreds of thousands of objects and no garbage: looking for it takes a sixth of a start (0.12 s of the
    Hub's 0.66 s).
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
