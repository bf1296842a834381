"""What all rooms of the supervisor need: small files, times, and calls to the service."""
