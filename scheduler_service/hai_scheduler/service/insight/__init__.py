"""What users read: tasks, the cluster, decisions, explanations and forecasts."""
