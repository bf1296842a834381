"""What the tests of the chart share."""
