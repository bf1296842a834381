"""Slurm's commands for users, over HAI's API: `sbatch`, `squeue`, `scancel`, `sacct`, `scontrol`, `sinfo`, `srun`."""
