"""The command's own words in the language of the user's terminal; what the service says comes in it from there."""
