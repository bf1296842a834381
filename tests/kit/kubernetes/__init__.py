"""Helpers of the tests on a real Kubernetes, which take any cluster from KUBECONFIG."""
