"""Measured capacity audits of Slurm clusters: evidence to hours, dollars and a report."""

__version__ = "0.1.0"
