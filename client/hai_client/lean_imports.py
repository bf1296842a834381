"""What a process leaves out of its imports, so that it starts sooner."""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
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


def import_at_first_use(name: str) -> None:
    """Let a module of a package be read only when something of it is first used, although others import it before.

    For what a process never uses: the service asks JupyterHub by HTTP, while `jupyterhub.services.auth` imports the
    Hub's database as well (`jupyterhub.orm`), and with it Alembic and Pygments.

    Args:
        name: The full name. If it has been imported already, nothing changes.

    Raises:
        ModuleNotFoundError: The package is not installed.
    """
    package, _, last = name.rpartition(".")
    parent = importlib.import_module(package)
    if name in sys.modules:
        return
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    # `from package import last` finds it here, and does not look at it.
    setattr(parent, last, module)


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
