"""What is in force: one policy, the replicas built for it, and the classifier that it asks."""
