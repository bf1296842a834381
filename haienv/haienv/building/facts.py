"""The facts of a generation that has been installed, for its manifest; and uv with the settings that hold for it."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from haienv.building.uv import Uv, check_cache, find
from haienv.store import config
from haienv.store.layout import Generation

_FACTS = (
    "import json,os,platform,sys;print(json.dumps({'python':platform.python_version(),'machine':platform.machine(),"
    "'interpreter':os.path.realpath(sys._base_executable),'libc':list(platform.libc_ver())}))"
)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The Python of a generation, and who makes it when."""

    python: str
    interpreter: str
    machine: str
    glibc: str
    built_by: str
    built_at: str


def facts_of(generation: Generation, uv: Uv) -> Facts:
    """Start the Python of a generation, and return its facts. Raises BuildFailed."""
    said = json.loads(
        uv.run(
            ["run", "--no-project", "--python", str(generation.python), "python", "-I", "-c", _FACTS],
            doing="start the new Python",
        )
    )
    return Facts(
        python=said["python"],
        interpreter=said["interpreter"],
        machine=said["machine"],
        glibc=said["libc"][1] if said["libc"][0] == "glibc" else "",
        built_by=getpass.getuser(),
        built_at=moment(),
    )


def moment() -> str:
    """Return this moment, RFC 3339, in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def uv_for(root: Path, generation: Generation, environ: Mapping[str, str], show: Callable[[str], None]) -> Uv:
    """Return uv with the settings that hold below a root, and the log of a generation. Raises Wrong, Damaged."""
    variables = config.applied(config.merged(root, environ), environ)
    check_cache(variables)
    return Uv(program=find(environ), environ=variables, log=generation.log, show=show)
