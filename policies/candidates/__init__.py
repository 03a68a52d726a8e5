"""Filters: drop what cannot answer, with a reason, before anything is weighed."""
