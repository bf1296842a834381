"""Spot containers: JupyterLab servers that are tasks, take their turn and give way."""
