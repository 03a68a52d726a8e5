"""Experiments at work: outcomes into evidence beside the requests, kept over restarts, shared, and tried out in simulation."""
