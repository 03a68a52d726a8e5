"""Where drafts come from: prompt lookup, a second model; and whether they pay."""
