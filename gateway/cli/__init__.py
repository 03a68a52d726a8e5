"""The command line: `turnout serve | worker | check | explain | models | train | evaluate`. One file per subject.

Each command imports what it needs when it runs, so that `turnout --help` is quick and a gateway over HTTP upstreams
never needs torch.
"""

from gateway.cli.root import app, main

__all__ = ["app", "main"]
