"""Shadows: whose requests are asked of a second model as well, what that may cost, and what comparing the answers says."""
