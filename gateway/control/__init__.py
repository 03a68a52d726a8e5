"""What goes on beside the requests: the policy file is followed, models are opened, health is told."""
