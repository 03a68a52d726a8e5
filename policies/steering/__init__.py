"""A target held through drift: what requests came to, and where that puts the line between the tiers."""
