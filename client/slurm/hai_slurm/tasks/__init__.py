"""Slurm's commands inside a task: the batch script, its steps on all nodes, and what shows or changes the own job."""
