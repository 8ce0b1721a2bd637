"""How memories are shown: the only reader and writer of memory directories."""
