"""What is thought about: a model is asked, and what it answers is worked into the store."""
