"""A second replica that is asked while the first one says nothing: when, how often, and when not."""
