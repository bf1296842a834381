"""For your own Hub: put what you like above, HAI adds to it. `HAI_HUB_SETTINGS` names a JSON file of HubSettings."""

from hai_hub import HubSettings, install

install(get_config(), HubSettings.from_environment())  # noqa: F821
