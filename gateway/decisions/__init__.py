"""What was decided, on what grounds and with what outcome, kept on disk so that it can be decided again."""
