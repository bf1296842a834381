"""What several suites of tests share: values, clusters, databases, servers, interpreters. It holds no tests."""
