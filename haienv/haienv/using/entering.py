"""Replaces a running script by itself in an environment (`haienv.set_env`)."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import MutableMapping

from haienv.shared.errors import Wrong
from haienv.store import manifest as manifests
from haienv.store import names
from haienv.store.layout import root_of
from haienv.store.people import caller_of
from haienv.store.registry import Registry
from haienv.using import activation


def enter(
    name: str | None, owner: str | None, *, already: str, argv: list[str], environ: MutableMapping[str, str]
) -> None:
    """See `haienv.set_env`; `already` is the variable that marks the new process, `argv` this one's command line."""
    if name is None:
        name, owner = environ.get(activation.ORIGINAL_NAME), owner or environ.get(activation.ORIGINAL_OWNER)
        if not name:
            raise Wrong(
                f"environment: none is named; write haienv.set_env('vision'), or set {activation.ORIGINAL_NAME}"
            )
    registry = Registry(root_of(environ), caller_of(environ))
    env, generation = registry.generation(names.parse(name, user=owner))
    if os.path.realpath(sys.prefix) == os.path.realpath(str(generation.prefix)):
        return
    if environ.get(already) == str(generation.prefix):
        raise Wrong(
            f"environment: {env.name} was entered, and its Python still uses {sys.prefix}: is `python` an alias?"
        )
    foreign = _imported_packages()
    if foreign:
        # Some Pythons import packages whenever they start, by a .pth file: the script has not done that.
        started = _imported_at_start()
        foreign = [one for one in foreign if one not in started]
    if foreign:
        raise Wrong(
            f"environment: {', '.join(foreign[:3])} of another Python is imported already; call"
            f" haienv.set_env({name!r}) before all other imports"
        )
    added = activation.variables(generation.prefix, manifests.read(generation.manifest), environ.get("PATH", ""))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(  # noqa: S606  the user's own script
        str(generation.python),
        [str(generation.python), *argv[1:]],
        {**activation.applied(environ, added), already: str(generation.prefix)},
    )


def _imported_at_start() -> frozenset[str]:
    """Return the modules that this Python imports before any script begins."""
    words = [sys.executable, "-c", "import sys; print(*sys.modules, sep='\\n')"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return frozenset(done.stdout.decode(errors="replace").split())


def _imported_packages() -> list[str]:
    """Return the packages that are imported from a site-packages folder, other than this one."""
    found = set()
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None) or ""
        if f"{os.sep}site-packages{os.sep}" in path and not name.startswith(
            ("haienv", "_distutils_hack", "sitecustomize")
        ):
            found.add(name.partition(".")[0])
    return sorted(found)
