"""Routing quality by the commands a person has: train, score, evaluate, on published splits."""
