"""Pickers: of all candidates exactly one, and the order in which the others follow."""
