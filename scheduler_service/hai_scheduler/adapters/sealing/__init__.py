"""The vault of the service itself: AES-256-GCM with the keys of the settings."""
