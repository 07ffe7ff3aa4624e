"""``python -m lpsvdd.cli``."""

import sys

from lpsvdd.cli import main

sys.exit(main())
