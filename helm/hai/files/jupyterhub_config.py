"""The Hub's configuration on a cluster: everything is made from the chart's values."""

from hai_hub.cluster.install import ChartEnv, configure

configure(get_config(), ChartEnv.of_process())  # noqa: F821
