"""The generated cluster month: Slurm text as a site would hand it over, its truth kept aside."""

from audit.sample.cluster import ACCELERATORS
from audit.sample.month import SampleSummary, generate
from audit.sample.trouble import Trouble

__all__ = ["ACCELERATORS", "SampleSummary", "Trouble", "generate"]
