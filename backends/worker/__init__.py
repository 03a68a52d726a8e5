"""A worker tells the gateways in front of it what it holds and how much it has to do: the words, who says and who hears them."""
