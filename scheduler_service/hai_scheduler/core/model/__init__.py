"""The values that everything speaks of: tasks, runs, nodes, quota, policy, decisions and verdicts.

Everything here is frozen. Times are aware UTC datetimes, lengths of time are timedeltas.
"""
