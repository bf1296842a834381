"""Takes the pictures of the tours, of a platform that is started for them."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Error

from pictures.studio.camera import Camera
from pictures.studio.stage import Lab, lab
from pictures.studio.views import VIEWS, View, take

FOLDER = Path(__file__).parents[3] / "docs" / "pictures"


def take_all(names: list[str]) -> None:
    """Take the pictures with those names; none: all.

    Args:
        names: Of the pictures, without `.png`.
    """
    unknown = set(names) - {view.name for view in VIEWS}
    if unknown:
        known = ", ".join(view.name for view in VIEWS)
        sys.exit(f"there is no picture {min(unknown)!r}: name some of {known}")
    with (
        tempfile.TemporaryDirectory(prefix="hai-") as home,
        lab(Path(home)) as platform,
        Camera(platform, FOLDER) as camera,
    ):
        failed = [view.name for view in VIEWS if view.name in names or not names if not taken(platform, camera, view)]
    if failed:
        sys.exit(f"not taken: {', '.join(failed)}")


def taken(platform: Lab, camera: Camera, view: View) -> bool:
    """Take a picture, and say whether it could be taken: one that cannot spoils no other one."""
    try:
        print(f"docs/pictures/{view.name}.png: {take(platform, camera, view):,} bytes", flush=True)
    except (Error, OSError, RuntimeError) as error:
        file = camera.page(view.user, language=view.language, theme=view.theme).screenshot()
        shown = Path(tempfile.gettempdir()) / f"{view.name}-failed.png"
        shown.write_bytes(file)
        print(f"{view.name}: {error}\nwhat was there then: {shown}", file=sys.stderr, flush=True)
        return False
    return True
