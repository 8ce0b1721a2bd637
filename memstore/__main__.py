"""`python -m memstore`, or this very file: the same program as the console script."""

from __future__ import annotations

import os
import sys

if not __package__:  # started by its path, as a plugin of a checkout starts it: `python -I` looks in its library only
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from memstore.cli.main import main

if __name__ == "__main__":
    main()
