"""TensorBoard on the folders that tasks write to, one process a folder, behind the login of this server."""
