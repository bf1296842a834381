"""The actions of users on tasks: submit, stop, suspend, resume, hold, change their order."""
