"""Why tasks wait and what was decided, in the language of the user's terminal."""
