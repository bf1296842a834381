"""Between the values of the core and the models of the wire."""
