"""The state of the first release, which `make_first_tables` makes at once: nothing runs this."""

revision = "0026"
down_revision = None
