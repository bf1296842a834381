"""The Hub's configuration file as `hai up` uses it; `HAI_HUB_SETTINGS` names the settings."""

from hai_hub import HubSettings, install

install(get_config(), HubSettings.from_environment())  # type: ignore[name-defined]  # noqa: F821
