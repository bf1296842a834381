"""The store on SQLite and PostgreSQL. `store.open_store` is the way in."""
