"""The release: its one number, what it consists of, and the folder that strangers get (`make release`)."""
