"""The platform's name on JupyterHub's own pages: its logo, by JupyterHub's own setting. No template is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from traitlets.config import Config

from hai_hub.config.config_merge import set_default

#: The word and the sign, in a colour that can be read on light and on dark.
LOGO: Final = Path(__file__).with_name("logo.svg")


def show_name(c: Config) -> None:
    """Show the platform's logo at the top of JupyterHub's pages, unless the administrator has chosen one."""
    set_default(c, "JupyterHub", "logo_file", str(LOGO))
