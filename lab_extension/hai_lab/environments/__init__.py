"""The *Environments* view: what the command `haienv` tells and does, for the browser."""
