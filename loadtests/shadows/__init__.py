"""The shadow drill: a gateway whose shadow misbehaves beside one that has none, request by request."""
