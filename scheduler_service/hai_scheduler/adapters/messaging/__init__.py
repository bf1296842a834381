"""What carries messages to people: mail, webhooks, and sinks by apprise."""
