"""From the features of a turn to the chance that each head's models answer it well."""
