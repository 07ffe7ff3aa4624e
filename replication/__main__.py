"""``python -m replication``."""

from replication.cli import command_line

if __name__ == "__main__":  # a worker process imports this module too
    command_line()
