"""The parts of a Hub's configuration that one machine and a cluster share."""
