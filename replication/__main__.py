"""``python -m replication``."""

from replication.cli import main

if __name__ == "__main__":  # a worker process imports this module too
    main()
