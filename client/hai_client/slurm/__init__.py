"""Slurm's interface inside a task: variables, `srun` and other commands, steps over the gang.

It needs only the standard library of Python 3.8 or newer, as it runs inside tasks, in any image. The commands of the
user's side are in `hai_client.cli.slurm`.
"""
