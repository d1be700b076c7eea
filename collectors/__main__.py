"""Starts the collector when its zip application is run: `python3 collector.pyz run --dir DIR`."""

import sys

from audit_collector.cli import main

sys.exit(main(sys.argv[1:]))
