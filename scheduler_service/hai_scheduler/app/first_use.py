"""Puts the import of a module off until something of it is used."""

from __future__ import annotations

import importlib
import importlib.util
import sys


def import_at_first_use(name: str) -> None:
    """Let a module of a package be read only when something of it is first used, although others import it before.

    For what a process never uses: the service asks JupyterHub by HTTP, while `jupyterhub.services.auth` imports the
    Hub's database as well (`jupyterhub.orm`), and with it Alembic and Pygments: 0.17 s and 18 MiB of each process.

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
