"""What users do to tasks: submit, stop, suspend, resume, hold, change their order."""
