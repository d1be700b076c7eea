"""Hours, shares, cost, use and coverage: each definition once, as a `.sql` file named after what it makes."""

from audit.accounting.figures import figures
from audit.accounting.views import create_views, definitions

__all__ = ["create_views", "definitions", "figures"]
