"""The ledger: what every run took, cut at days, and its sums by hour, day and month."""
