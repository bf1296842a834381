"""The verbs about the platform: the account, nodes, quota, policy, and what admins change."""
