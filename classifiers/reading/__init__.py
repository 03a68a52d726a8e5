"""What a turn asks: without appeals, and without what was put to it."""
