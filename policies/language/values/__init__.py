"""Values with their units, as the file writes them: text in, a number out, or what to write instead."""
