"""What a request is, before anybody decides: its prompt as models read it, its conversation, its agent, its sender."""
