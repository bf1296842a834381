"""Solves and installs packages of conda, in a process of its own: `python -m haienv.building.conda_worker`.

It reads one JSON object on stdin and writes one on stdout. Rattler takes proxies and certificates from the variables of
its process, so these are the builder's and not the caller's.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any


async def build(asked: dict[str, Any]) -> list[dict[str, str]]:
    """Solve and install.

    Args:
        asked: `channels` (addresses), `specs`, `platform`, `prefix`, `cache` (folders).

    Returns:
        The packages: name, version, build, url, sha256.
    """
    import rattler

    cache = Path(asked["cache"])
    gateway = rattler.Gateway(cache_dir=cache / "repodata")
    overrides = rattler.VirtualPackageOverrides.from_env()
    records = await rattler.solve(
        sources=[rattler.Channel(one) for one in asked["channels"]],
        # What `conda env export` writes, such as python=3.11.9=hb806964_0_cpython, is not strict.
        specs=[rattler.MatchSpec(one, strict=False) for one in asked["specs"]],
        gateway=gateway,
        platforms=[asked["platform"], "noarch"],
        virtual_packages=rattler.VirtualPackage.detect(overrides),
    )
    print(f"Solved {len(records)} packages of conda", file=sys.stderr, flush=True)
    await rattler.install(
        records=records,
        target_prefix=asked["prefix"],
        cache_dir=cache / "pkgs",
        # What a package would run after it was installed is not run.
        execute_link_scripts=False,
        show_progress=False,
    )
    print(f"Installed {len(records)} packages of conda", file=sys.stderr, flush=True)
    return [
        {
            "name": one.name.normalized,
            "version": str(one.version),
            "build": str(one.build),
            "url": str(one.url),
            "sha256": one.sha256.hex() if one.sha256 else "",
        }
        for one in sorted(records, key=lambda one: str(one.name.normalized))
    ]


def main() -> int:
    """Do what stdin asks for; return the exit status."""
    try:
        made = asyncio.run(build(json.load(sys.stdin)))
    except Exception as error:  # noqa: BLE001  rattler's errors have no common class
        print(f"error: {error}", file=sys.stderr)
        return 1
    json.dump(made, sys.stdout)
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of rattler may still run, and Python's usual end would stop at them.
    os._exit(status)
