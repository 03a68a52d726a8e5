"""`python -m gateway.cli` is `turnout`."""

from gateway.cli.root import main

main()
