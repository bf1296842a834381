"""The platform as a whole: its leader, its health, and the actions of admins."""
