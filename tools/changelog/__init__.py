"""The changelog out of fragments: what a change says of itself, in a file of its own, until the next release."""
