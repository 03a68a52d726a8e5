"""Is a replica ready, and how much has it to do? What is asked of each kind of server, and what it calls its load."""
