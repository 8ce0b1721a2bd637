"""What Claude Code does: where it looks, what it writes."""
