"""The use cases of reading: tasks, the cluster, decisions, explanations and forecasts."""
