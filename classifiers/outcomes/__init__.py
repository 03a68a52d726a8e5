"""How well models did on prompts: published tables and a person's own file."""
