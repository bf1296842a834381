"""The Hub's configuration on a cluster: everything is made from the chart's values."""

from hai_hub.cluster.install import Surroundings, configure

configure(get_config(), Surroundings.of_process())  # noqa: F821
