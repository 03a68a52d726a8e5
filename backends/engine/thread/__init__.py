"""What passes between the thread that owns the model and all others: orders, outputs, what is resident; and its restart."""
