"""The application: async, orchestrates the ports around the core; no SQL, no HTTP."""
