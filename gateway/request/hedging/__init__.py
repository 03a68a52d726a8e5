"""A second replica beside one that is silent: the race, what it came to, and what a process knows of lateness."""
