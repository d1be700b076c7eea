"""The collector: samples jobs, cards and the node it runs on, and writes segments of what it saw."""

VERSION = "1.0"
