"""Accounts of budgets: what is set aside for requests under way and what the others came to, here and in the shared store."""
