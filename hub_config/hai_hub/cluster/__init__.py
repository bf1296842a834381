"""HAI on a Kubernetes cluster: the Hub's configuration there, and `hai cluster`."""
