"""Who the processes in pods are: one account for all, or one for each user by files or by what logins told."""
