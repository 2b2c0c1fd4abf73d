"""What the disk and SQLite cost at least: the same library, one thread, one row a commit, nothing else."""

from pathlib import Path

import apsw


class Floor:
    """A database beside the ledger's, with the same durability."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=1000"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        self._connection.execute("CREATE TABLE rows(row INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT")
        self._fill_the_log()

    def _fill_the_log(self) -> None:
        """Let the log reach its full size once: growing a file makes every sync dearer."""
        rows = (("x" * 400,) for _ in range(15_000))
        with self._connection:
            self._connection.executemany("INSERT INTO rows(body) VALUES(?)", rows)
        self._connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()

    def commits(self, count: int) -> None:
        """So many synced commits of one row of 400 characters each."""
        for _ in range(count):
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("INSERT INTO rows(body) VALUES(?)", ("x" * 400,))
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
