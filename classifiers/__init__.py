"""How hard is this request. Training may be slow and rich; answering is quick or abstains."""
