"""What we are measured against: a scripted upstream, and proxies that others would write."""
