"""What Slurm gives a job, given by HAI: variables, `srun` and its fellows inside a task, steps over the gang.

Standard library only, and any Python from 3.8 on: it runs inside tasks, in whatever image. The commands of the user's
side are in `hai_client.cli.slurm`.
"""
