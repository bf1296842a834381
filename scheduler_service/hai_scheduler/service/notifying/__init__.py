"""What users are told: their rules, and the outbox, which the leading loop routes and sends."""
