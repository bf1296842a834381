"""What speaks HTTPS before a platform: nginx and Caddy, configured as docs/group.md has it, or the platform itself."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.conftest import ROOT
from kit.waiting import wait_for

PAGE = (ROOT / "docs/group.md").read_text()
#: Debian has it where only root's PATH leads.
PROGRAMS = {name: shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/bin") for name in ("nginx", "caddy")}


@dataclass(frozen=True)
class Front:
    """An address with HTTPS, and whose certificate it shows."""

    url: str
    authority: Path

    @property
    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority)


def block(language: str, holding: str) -> str:
    """The block of code of a language that holds a text."""
    (found,) = [one for one in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if holding in one]
    return str(found)


def nginx(folder: Path, port: int, behind: int, path: str) -> list[str]:
    """Write its configuration, and return its command."""
    text = block("nginx", "proxy_pass")
    for before, after in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/hub.example.org.pem", f"{folder}/hub.crt"),
        ("/etc/ssl/private/hub.example.org.key", f"{folder}/hub.key"),
        ("127.0.0.1:8000", f"127.0.0.1:{behind}"),
        ("location / {", f"location {path}/ {{"),
    ):
        assert before in text
        text = text.replace(before, after)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/front.log;\n"
        f"events {{}}\nhttp {{ access_log off; {temporary}\n{text} }}\n"
    )
    return [str(PROGRAMS["nginx"]), "-p", str(folder), "-e", f"{folder}/front.log", "-c", str(config)]


def caddy(folder: Path, port: int, behind: int, path: str) -> list[str]:
    """Write its configuration, and return its command."""
    text = block("caddy", "reverse_proxy")
    for before, after in (
        ("hub.example.org {", f"https://localhost:{port} {{\n  tls {folder}/hub.crt {folder}/hub.key"),
        ("127.0.0.1:8000", f"127.0.0.1:{behind}"),
        ("reverse_proxy /*", f"reverse_proxy {path}/*"),
    ):
        assert before in text
        text = text.replace(before, after)
    config = folder / "Caddyfile"
    # HTTP/3 would want a port of UDP as well.
    config.write_text(f"{{\n  admin off\n  auto_https off\n  servers {{\n    protocols h1 h2\n  }}\n}}\n{text}")
    return [str(PROGRAMS["caddy"]), "run", "--adapter", "caddyfile", "--config", str(config)]


FRONTS: dict[str, Callable[[Path, int, int, str], list[str]]] = {"nginx": nginx, "caddy": caddy}


@contextmanager
def running(command: list[str], folder: Path, answers: Callable[[], bool]) -> Iterator[None]:
    """Run a web server until the block ends."""
    environ = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with (folder / "said.log").open("w") as said:
        process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def ready() -> bool:
        assert process.poll() is None, (folder / "said.log").read_text()
        return answers()

    try:
        wait_for("the web server", ready)
        yield
    finally:
        process.terminate()
        process.wait()
