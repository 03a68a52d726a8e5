"""Does escalating on the small model's own answer pay? On published answers, with the signals and the fit that serve."""
