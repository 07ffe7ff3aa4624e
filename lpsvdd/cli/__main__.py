"""``python -m lpsvdd.cli``."""

from lpsvdd.cli import main

main()
