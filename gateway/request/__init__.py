"""The path of one request, a file for each verb, in the order of `chat.py`."""
