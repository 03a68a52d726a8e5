"""Was the cheap answer good enough? Signals of what it said, a chance, a verdict, and what escalating may cost."""
