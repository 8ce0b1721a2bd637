"""`python -m memstore`: the same program as the console script."""

from __future__ import annotations

from memstore.cli.main import main

if __name__ == "__main__":
    main()
