"""What use costs: the rates that admins set, and the budgets of user groups."""
