"""What a submission asks for: a command line for sbatch with its script, `--job` or JSON, as records.

Light on purpose (standard library only): it serves one estimate from a cold start.
"""

from audit.submission.advice import advised_options
from audit.submission.command import from_command
from audit.submission.plain import from_job, from_json
from audit.submission.records import Request, Submission

__all__ = ["Request", "Submission", "advised_options", "from_command", "from_job", "from_json"]
