"""What one call over HTTP costs this process, by transport, through one interface."""
