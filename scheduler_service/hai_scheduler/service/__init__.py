"""The use cases: async code that calls the core and the ports; no SQL, no HTTP."""
