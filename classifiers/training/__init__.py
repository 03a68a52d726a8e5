"""From outcomes, or a log, to an artefact."""
