"""Traces: whose go on, which are kept, how they are made into spans, and where those go."""
