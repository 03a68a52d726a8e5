"""A worker tells the gateways in front of it what it holds and has to do: the words, who says and who hears them."""
