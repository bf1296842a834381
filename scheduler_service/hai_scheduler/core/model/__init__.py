"""The values that everything speaks of: tasks, runs, nodes, quota, policy, decisions and verdicts."""
