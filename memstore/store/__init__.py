"""Where memories are kept: the only SQL and the only apsw of the program."""
