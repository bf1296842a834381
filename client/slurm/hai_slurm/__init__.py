"""Slurm's commands over HAI, for users and inside tasks.

The programs in `shims/` call `commands`, under whichever python3 comes first. No service of Slurm is there.
"""
