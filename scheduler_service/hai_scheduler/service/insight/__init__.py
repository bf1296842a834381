"""What users read of the scheduler's mind: tasks, the cluster, decisions, explanations, forecasts."""
