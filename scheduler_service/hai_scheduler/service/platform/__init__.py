"""The platform as a whole: who leads, whether it does its work, and what admins do to it."""
