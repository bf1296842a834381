"""What several use cases need: who asks, errors, how tasks change, the latest plan, topics of the bus."""
