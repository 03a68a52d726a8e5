"""Shadows at work: requests whose answer has left are asked of a second model, and the answers are compared."""
