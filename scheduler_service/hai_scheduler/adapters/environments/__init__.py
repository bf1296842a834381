"""Environments of haienv, in the folder that HAIENV_ROOT names."""
