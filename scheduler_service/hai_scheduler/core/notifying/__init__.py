"""What users are told, by which rules and over which channels, and when it is sent."""
