"""Recordings of running tasks: ordered and read by users, carried out and sent by ranks."""
