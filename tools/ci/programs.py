"""Install the programs that some tests want: a Chromium, web servers, a registry of images, a directory, and others."""

from __future__ import annotations

import os
import shutil

from ci.parts import SKIPPED, call

#: Packages of Debian, by the program that each is for.
PACKAGES = {
    "caddy": "caddy",
    "chromium": "chromium",
    "docker-registry": "docker-registry",
    "mksquashfs": "squashfs-tools",
    "nginx": "nginx-light",
    "skopeo": "skopeo",
    "slapd": "slapd",
    "ssh-keygen": "openssh-client",
}


def install() -> int:
    """Return the status: 0 if they are there."""
    if all(map(shutil.which, PACKAGES)):
        return 0
    names = " and ".join(PACKAGES.values())
    if os.getuid() != 0 or not shutil.which("apt-get"):
        print(f"{names} are installed by root alone, on Debian: the tests that need them are skipped")
        return SKIPPED
    wanted = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES.values()]
    for words in (["apt-get", "update", "-qq"], wanted):
        if call(words):
            print(f"{names} could not be installed: the tests that need them are skipped")
            return SKIPPED
    return 0
