"""The first state, which `make_first_tables` and `bringing_over` make at once: nothing runs this."""

revision = "0025"
down_revision = None
