"""From a report's figures to what a person reads: PDF, HTML, JSON and a few lines for the terminal.

Works on the dictionary that `audit.accounting` makes and on bundled materials only: opens no store,
reaches no network. Jinja2 and WeasyPrint are loaded when a report is written, not before.
"""

from audit.reporting.summary import text_summary
from audit.reporting.write import write_report

__all__ = ["text_summary", "write_report"]
