"""Keeping house: what a person does with a whole store, and now and then. Examining, backups, forgetting, exchange."""
