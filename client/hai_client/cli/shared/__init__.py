"""What all verbs use: their context, options, output and its tables."""
