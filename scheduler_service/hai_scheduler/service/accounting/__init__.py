"""What use costs and how it went: reports from the ledger, rates, and budgets of user groups."""
