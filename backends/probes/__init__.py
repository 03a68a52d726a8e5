"""Is a replica ready? One file for each kind of server."""
