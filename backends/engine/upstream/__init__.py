"""The engine as an upstream in this process: chats in, neutral events out."""
