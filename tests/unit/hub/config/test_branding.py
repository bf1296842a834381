"""JupyterHub's pages have the platform's logo unless the administrator has chosen another."""

from __future__ import annotations

from xml.etree import ElementTree

from traitlets.config import Config

from hai_hub.config.branding import LOGO, TEMPLATES, say_names_are_kept, show_name


def test_the_logo_is_a_picture_without_scripts() -> None:
    c = Config()
    show_name(c)
    assert c.JupyterHub.logo_file == str(LOGO)
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.parse(LOGO).iter()}
    assert tags == {"svg", "g", "rect", "path"}


def test_a_logo_of_the_administrator_stays() -> None:
    c = Config({"JupyterHub": {"logo_file": "/srv/ours.png"}})
    show_name(c)
    assert c.JupyterHub.logo_file == "/srv/ours.png"


def test_the_administrators_templates_come_before_the_platforms() -> None:
    c = Config({"JupyterHub": {"template_paths": ["/srv/ours"]}})
    say_names_are_kept(c)
    assert c.JupyterHub.template_paths == ["/srv/ours", str(TEMPLATES)]
    assert (TEMPLATES / "admin.html").is_file()
