"""Same prefix, same replica: block keys, and which replica holds back for which load."""
