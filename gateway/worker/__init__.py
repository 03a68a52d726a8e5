"""Workers: the pages with which this process is one, and the listening of a gateway to those in front of which it stands."""
