"""Debian's slapd with a directory of its own, on a free port, thrown away at the end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ldap3
import pytest

from kit.certificates import certificate
from kit.ports import free_port
from kit.waiting import wait_for

SUFFIX = "dc=example,dc=org"
PEOPLE, GROUPS = f"ou=people,{SUFFIX}", f"ou=groups,{SUFFIX}"
ROOT, ROOT_PASSWORD = f"cn=root,{SUFFIX}", "of-the-root"
#: The account that looks up others; nobody else may read.
READER, READER_PASSWORD = f"cn=hai,{SUFFIX}", "canary-of-the-reader-9b2e"

_CONFIG = """\
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
TLSCertificateFile {folder}/directory.crt
TLSCertificateKeyFile {folder}/directory.key
security ssf=1
database mdb
suffix "{suffix}"
rootdn "{root}"
rootpw {password}
directory {folder}/data
overlay memberof
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{reader}" read by * none
"""


def program() -> str:
    """The path of slapd; the test is skipped where there is none."""
    found = shutil.which("slapd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if not found:
        pytest.skip("there is no slapd here: on Debian `apt install slapd`")
    return found


class Slapd:
    """A directory with people and groups. Nothing is said to it without encryption."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "data").mkdir()
        certificate(folder, "directory", "localhost")
        self.ca = folder / "directory.crt"
        self.port, self.tls_port = free_port(), free_port()
        self.plain, self.tls = f"ldap://localhost:{self.port}", f"ldaps://localhost:{self.tls_port}"
        words = {"folder": folder, "suffix": SUFFIX, "root": ROOT, "password": ROOT_PASSWORD, "reader": READER}
        (folder / "slapd.conf").write_text(_CONFIG.format(**words))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Slapd:
        """Start it, and write the first entries."""
        words = [program(), "-d", "0", "-h", f"{self.plain}/ {self.tls}/", "-f", str(self.folder / "slapd.conf")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for("slapd to answer", self._answers)
        if not self._is_there(SUFFIX):
            self.add(SUFFIX, ["dcObject", "organization"], dc="example", o="example")
            for name in ("people", "groups"):
                self.add(f"ou={name},{SUFFIX}", ["organizationalUnit"], ou=name)
            reader = ["organizationalRole", "simpleSecurityObject"]
            self.add(READER, reader, cn="hai", userPassword=READER_PASSWORD)
        return self

    def person(self, uid: str, password: str, **more: Any) -> str:
        """Add somebody; returns the distinguished name."""
        numbers = {"uidNumber": "20017", "gidNumber": "3100", "homeDirectory": f"/home/{uid}"}
        dn = f"uid={uid},{PEOPLE}"
        classes = ["inetOrgPerson", "posixAccount"]
        self.add(dn, classes, uid=uid, cn=uid, sn=uid, userPassword=password, **(numbers | more))
        return dn

    def group(self, name: str, *members: str) -> str:
        """Add a group with members, or give the group these; returns its distinguished name."""
        dn = f"cn={name},{GROUPS}"
        if self._is_there(dn):
            with self._root() as root:
                assert root.modify(dn, {"member": [(ldap3.MODIFY_REPLACE, list(members))]})
        else:
            self.add(dn, ["groupOfNames"], cn=name, member=list(members))
        return dn

    def add(self, dn: str, classes: list[str], **attributes: Any) -> None:
        with self._root() as root:
            assert root.add(dn, classes, attributes), root.result

    def remove(self, dn: str) -> None:
        with self._root() as root:
            assert root.delete(dn)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, such as SIGSTOP or SIGCONT."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> None:
        """End it; `start` starts it again with what it has."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text(errors="replace")[-2000:]
        try:
            socket.create_connection(("127.0.0.1", self.tls_port), 1).close()
        except OSError:
            return False
        return True

    def _is_there(self, dn: str) -> bool:
        with self._root() as root:
            return bool(root.search(dn, "(objectClass=*)", "BASE"))

    @contextmanager
    def _root(self) -> Iterator[Any]:
        server = ldap3.Server("127.0.0.1", self.tls_port, use_ssl=True, get_info=ldap3.NONE)
        connection = ldap3.Connection(server, ROOT, ROOT_PASSWORD)
        opened = None
        try:
            connection.bind()
            opened = connection.socket
            yield connection
            connection.unbind()
        finally:
            if opened is not None:
                opened.close()
