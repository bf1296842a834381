"""What the tests on a real Kubernetes are made of. They take any cluster from KUBECONFIG."""
