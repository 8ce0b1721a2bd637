"""Proofs that take longer than tests: `scripts/prove NAME [--floor|--full]`. A module with a NAME is a proof."""
