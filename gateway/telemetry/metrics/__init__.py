"""What is counted: metrics, their labels, and how a page of them is written."""
