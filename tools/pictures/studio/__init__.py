"""The pictures of the tours: a platform of its own, filled with the work of a laboratory, in a browser."""
