"""What JupyterHub's own pages have of the platform: its logo, and what an admin should know before changing users."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from traitlets.config import Config

from hai_hub.config.config_merge import plain, set_default

#: JupyterHub's admin page shows no reason where a change is refused. So a line above it says what is.
TEMPLATES: Final = Path(__file__).with_name("templates")
#: The word and the sign, in a colour that can be read on light and on dark.
LOGO: Final = Path(__file__).with_name("logo.svg")


def show_name(c: Config) -> None:
    """Show the platform's logo at the top of JupyterHub's pages, unless the administrator has chosen one."""
    set_default(c, "JupyterHub", "logo_file", str(LOGO))


def say_names_are_kept(c: Config) -> None:
    """Say on the admin page that users keep their names. The administrator's own templates come first."""
    before = plain(c, "JupyterHub", "template_paths") or []
    c.JupyterHub.template_paths = [*before, str(TEMPLATES)]
