"""What may be spent, by whom, until when: how much a request may come to, what is left, and what follows when too little is."""
