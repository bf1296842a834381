"""How a request is served: found, limited, authenticated, read, answered, measured."""
