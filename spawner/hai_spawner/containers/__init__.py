"""Users' JupyterLab servers, as processes on one machine and as pods."""
