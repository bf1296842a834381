"""Dashboards and alerts of the service as tables, and what writes them into the chart: `make monitoring`."""
