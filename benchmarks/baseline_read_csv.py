"""The yardstick of reading: DuckDB's own CSV reader makes the same file a table of text, nothing understood.

Usage: python -m benchmarks.baseline_read_csv FILE DATABASE. The statements: baseline_read_csv.sql.
"""

import sys
from pathlib import Path

import duckdb


def main() -> int:
    """Runs the statements into a new database file, as a whole process with DuckDB's own settings."""
    file, database = sys.argv[1:]
    with duckdb.connect(database) as connection:
        for statement in duckdb.extract_statements(Path(__file__).with_suffix(".sql").read_text()):
            connection.execute(statement, {"file": file} if statement.named_parameters else None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
