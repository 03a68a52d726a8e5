"""How well an artefact routes, beside what any router must beat."""
