"""The doorbell between the processes of one machine."""
