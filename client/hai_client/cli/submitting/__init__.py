"""The verbs that submit a task, or rehearse one: commands, scripts, experiment files."""
