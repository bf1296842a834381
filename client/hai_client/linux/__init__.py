"""What Linux says of processes and does with them: /proc, signals, accounts, cgroups, changes of files."""
