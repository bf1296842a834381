"""Development containers: how the Hub starts users' JupyterLab servers, and how requests reach them."""
