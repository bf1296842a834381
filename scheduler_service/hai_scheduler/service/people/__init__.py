"""Users: archived and restored by admins."""
