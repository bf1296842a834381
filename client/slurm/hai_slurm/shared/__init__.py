"""What Slurm's commands have in common: their options, and the tables that they print."""
