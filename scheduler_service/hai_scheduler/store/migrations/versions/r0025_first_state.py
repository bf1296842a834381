"""The first state, which `first_tables` and `bringing_over` make at once: nothing runs this."""

revision = "0025"
down_revision = None
