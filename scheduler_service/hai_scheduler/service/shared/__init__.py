"""What several use cases need: the caller, errors, changes of tasks, the latest plan, topics of the bus."""
