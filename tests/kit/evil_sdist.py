"""A package whose build tries to write where it should not: what a platform must survive when it builds for others."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

#: A backend of PEP 517 that needs nothing. What it could write is a line of the file that it leaves.
_BACKEND = """
import base64, hashlib, json, os, zipfile

PLACES = {places!r}
REPORT = {report!r}


def build_wheel(folder, config_settings=None, metadata_directory=None):
    written = []
    for place in PLACES:
        try:
            with open(os.path.join(place, "evil.txt"), "w") as file:
                file.write("evil")
            written.append(place)
        except OSError:
            pass
    with open(REPORT, "w") as file:
        json.dump({{"uid": os.getuid(), "groups": sorted({{os.getgid(), *os.getgroups()}}), "written": written}}, file)
    info = "{name}-1.0.dist-info"
    contents = {{
        "{name}.py": "VERSION = '1.0'\\n",
        info + "/METADATA": "Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n",
        info + "/WHEEL": "Wheel-Version: 1.0\\nGenerator: tests\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }}
    record = ""
    for path, text in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\\n" % (path, digest, len(text))
    wheel = "{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, wheel), "w") as archive:
        for path, text in contents.items():
            archive.writestr(path, text)
        archive.writestr(info + "/RECORD", record + info + "/RECORD,,\\n")
    return wheel
"""


def make_evil_sdist(folder: Path, name: str, places: list[str], report: str) -> Path:
    """Make the source distribution of a package, version 1.0, that tries to write files `evil.txt` when it is built.

    Args:
        folder: Where it is put.
        name: The package's name.
        places: The folders that it tries to write in.
        report: The file in which it says, as JSON, its account, its groups, and in which folders it has written.
    """
    texts = {
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f'[project]\nname = "{name}"\nversion = "1.0"\n',
        "backend.py": _BACKEND.format(name=name, places=places, report=report),
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
    }
    file = folder / f"{name}-1.0.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for path, text in texts.items():
            data = text.encode()
            info = tarfile.TarInfo(f"{name}-1.0/{path}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file
