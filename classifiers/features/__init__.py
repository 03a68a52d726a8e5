"""From a text to the numbers that heads read, and to the text that the encoder sees."""
