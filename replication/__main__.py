"""``python -m replication``."""

from replication.cli import main

main()
