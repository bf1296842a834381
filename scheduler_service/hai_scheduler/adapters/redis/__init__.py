"""The doorbell between replicas, over Redis."""
