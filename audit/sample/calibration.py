"""Every constant of the generated month, each with what it rests on.

"Acme" is the AcmeTrace summary of two LLM clusters, Philly and Helios (CC BY 4.0). What no public
trace tells (requests beside peaks) is chosen, and says so.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

CLUSTER: Final = "sample"
TIME_ZONE: Final = "America/Chicago"
WINDOW_FROM: Final = datetime(2026, 5, 1, tzinfo=ZoneInfo(TIME_ZONE))  # a month without a clock change

# Submissions start before the window, so that it opens on a busy cluster rather than an empty one.
LEAD_IN_S: Final = 3 * 86400

# Held GPU time asked of the cluster over what it has. Chosen: high enough to queue, low enough to drain.
GPU_DEMAND: Final = 0.81
CPU_DEMAND: Final = 0.68

# Who submits. Chosen: a user for some 200 jobs, four families each, by Zipf's law with a blunted head, so
# that the busiest of 24 does not make half of the month.
JOBS_PER_USER: Final = 200
FEWEST_USERS: Final = 24
MOST_USERS: Final = 500
FAMILIES_PER_USER: Final = 4
ZIPF_OF_FAMILIES: Final = 0.6
ZIPF_OF_SUBMISSIONS: Final = 0.8

# Spread of needs, as sigmas of logarithms: between families, and the widest within one. Chosen: a family's
# need is near enough the same each time to be learnt, and one in seven changes for good during the month.
MEM_SPREAD: Final = 0.6
MEM_SIGMA_MAX: Final = 0.35
DRIFTING: Final = 0.15
LARGEST_NEED: Final = 0.42  # of a node's memory, so that the request can still be twice the need
HANGING: Final = 0.01  # jobs that run 2 to 12 times as long as their family does
TYPED: Final = 0.6  # families that ask for a type of GPU rather than for any
THROTTLED: Final = 0.4  # array families with a limit on tasks at once

# Request over need. Chosen at 2-3 x, as operators' talks give it; a tail below 1 makes the OOMs and timeouts.
MEM_FACTOR_MEDIAN: Final = 2.3
MEM_FACTOR_SIGMA: Final = 0.42
LIMIT_FACTOR_MEDIAN: Final = 2.2
LIMIT_FACTOR_SIGMA: Final = 0.35
FACTOR_FLOOR: Final = 1.05  # a family that never fits would not live long

# Acme: 7.5 % of GPU jobs cancelled (Seren), 0.1-4 % of CPU jobs; a few are withdrawn while they wait.
CANCEL_GPU: Final = 0.075
CANCEL_CPU: Final = 0.03
WITHDRAWN: Final = 0.03
WITHDRAW_AFTER_S: Final = 2 * 3600.0

# A user whose job ran out of memory nearly always tries again with more; out of time, less often.
RETRY_OOM: Final = 0.85
RETRY_TIMEOUT: Final = 0.45
RETRY_AFTER_S: Final = 900.0
RETRIES: Final = 3

# Acme: GPUs of the two LLM clusters show no activity in 30 to 34 % of samples; a third is the target.
# How much of that is cards never touched no trace tells: a tenth of held GPU time or a little more is chosen.
IDLE_GPU_SAMPLES: Final = 1 / 3

REQUEUED_BY_HAND: Final = 0.004
REQUEUE_ON_NODE_FAIL: Final = 0.7
REQUEUE_DELAY_S: Final = 120  # Slurm holds a requeued job back for two minutes
RESTARTS: Final = 3
PREEMPTIBLE: Final = 0.06  # share of GPU families in the preemptible partition

# A job that has waited this long gets nodes kept free for it; without that wide jobs would starve.
PATIENCE_S: Final = 3 * 3600
LIMIT_GRACE_S: Final = 60  # the limit is looked at every half minute: a job may outlive it by as much
LONGEST_RUN_S: Final = 3 * 86400.0

# One failure a node in about 50 days, one drain in 100, one planned maintenance of a quarter of each class.
DOWN_EVERY_S: Final = 50 * 86400.0
DOWN_FOR_S: Final = 2.5 * 3600  # medians
DRAIN_EVERY_S: Final = 100 * 86400.0
DRAIN_FOR_S: Final = 12 * 3600
MAINTENANCE_FOR_S: Final = 8 * 3600

JOBSTATS_SHORT_S: Final = 60  # two samples of jobstats' default 30 s
JOBSTATS_MISSING: Final = 0.012
UNSAMPLED_S: Final = 3  # the gatherer has nothing to say of a job that ends at once

# Submissions by hour of day and day of week (Monday first), relative. Chosen: office hours, quiet weekends.
HOUR_RHYTHM: Final = (
    *(0.45, 0.35, 0.3, 0.25, 0.25, 0.3, 0.4, 0.6, 0.95, 1.3, 1.5, 1.55),
    *(1.35, 1.45, 1.6, 1.6, 1.55, 1.4, 1.1, 0.95, 0.9, 0.85, 0.75, 0.6),
)
DAY_RHYTHM: Final = (1.1, 1.2, 1.2, 1.15, 1.05, 0.65, 0.65)


@dataclass(frozen=True)
class Kind:
    """What the families of one sort of work have in common. Medians are of families, sigmas of logarithms."""

    name: str
    job_share: float
    on_gpu: bool
    gpus: tuple[int, ...]  # asked for per node; a family takes one of them
    nodes: tuple[int, ...]
    cores: tuple[int, ...]  # per GPU where there are GPUs, else per node
    mem_gib: float  # need per node and GPU
    run_s: float
    run_spread: float  # between families
    run_sigma: float  # between jobs of a family
    activity: tuple[float, float]  # percent, of the GPUs touched while they work
    working: tuple[float, float]  # share of GPU samples with any activity
    vram: tuple[float, float]  # share of the card
    core_use: tuple[float, float]
    fail: float
    steps: str
    burst: float = 1.0  # mean tasks of an array; 1: no array
    touched: float = 1.0  # chance that a GPU asked for is touched at all


# Acme and Helios: median GPU run 2 to 3.5 minutes with a mean of half an hour to two hours; complete 50 to
# 62 %, fail 16 to 43 % of GPU jobs, 6 to 14 % of CPU jobs; CPU jobs are a third to a half of all.
# Columns: job share, on GPUs, GPUs, nodes, cores, GiB, run s, spread, sigma, activity, working, VRAM,
# core use, failures, steps.
KINDS: Final = (
    Kind("smoke", 0.13, True, (1,), (1,), (4, 8), 4, 25, 0.7, 0.5, (5, 40), (0.3, 0.8), (0.02, 0.2),
         (0.1, 0.5), 0.42, "script"),
    Kind("eval", 0.15, True, (1, 1, 2), (1,), (4, 8), 10, 110, 0.9, 0.5, (25, 80), (0.5, 0.9), (0.2, 0.7),
         (0.1, 0.6), 0.2, "script", touched=0.94),
    Kind("sweep", 0.15, True, (1,), (1,), (4, 6, 8), 8, 260, 1.0, 0.45, (30, 90), (0.6, 0.95), (0.1, 0.6),
         (0.2, 0.7), 0.12, "script", burst=24),
    Kind("infer", 0.08, True, (1, 1, 2), (1,), (4, 8), 14, 700, 1.0, 0.5, (15, 70), (0.4, 0.9), (0.3, 0.9),
         (0.1, 0.5), 0.12, "script", touched=0.92),
    Kind("finetune", 0.06, True, (1, 2, 4), (1,), (6, 8, 12), 20, 3600, 0.9, 0.5, (50, 95), (0.8, 0.98),
         (0.4, 0.95), (0.2, 0.6), 0.18, "srun", touched=0.9),
    Kind("train", 0.05, True, (1, 2, 4, 8), (1,), (8, 12), 24, 7200, 0.9, 0.5, (55, 98), (0.85, 0.99),
         (0.5, 0.97), (0.2, 0.6), 0.2, "srun", touched=0.9),
    Kind("pretrain", 0.006, True, (4, 8), (2, 2, 4), (8, 12), 26, 9000, 0.7, 0.5, (60, 98), (0.9, 0.99),
         (0.6, 0.97), (0.2, 0.5), 0.22, "srun"),
    Kind("notebook", 0.03, True, (1,), (1,), (4, 8), 10, 5400, 0.6, 0.5, (3, 35), (0.02, 0.3), (0.05, 0.5),
         (0.02, 0.15), 0.03, "interactive", touched=0.65),
    Kind("analysis", 0.05, True, (1, 2, 4), (1,), (8, 16), 12, 3000, 0.8, 0.5, (10, 60), (0.2, 0.7),
         (0.05, 0.3), (0.2, 0.9), 0.08, "script", touched=0.15),
    Kind("prep", 0.08, False, (0,), (1,), (4, 8, 16), 18, 500, 1.0, 0.5, (0, 0), (0, 0), (0, 0),
         (0.15, 0.8), 0.08, "multi"),
    Kind("align", 0.13, False, (0,), (1,), (1, 2, 4), 5, 420, 1.0, 0.4, (0, 0), (0, 0), (0, 0),
         (0.4, 0.98), 0.06, "script", burst=32),
    Kind("mpi", 0.03, False, (0,), (1, 2, 4), (32, 64), 50, 4800, 0.8, 0.4, (0, 0), (0, 0), (0, 0),
         (0.75, 0.99), 0.1, "srun"),
    Kind("post", 0.055, False, (0,), (1,), (1, 2, 4), 7, 120, 1.1, 0.5, (0, 0), (0, 0), (0, 0),
         (0.2, 0.95), 0.1, "script"),
    Kind("coupled", 0.004, False, (0,), (1,), (8, 16), 12, 1500, 0.7, 0.4, (0, 0), (0, 0), (0, 0),
         (0.4, 0.9), 0.1, "srun"),
)  # fmt: skip

# Stems of job names by kind, and how the rest of a name is made (`{}`: a version, date, hash or number).
NAMES: Final[dict[str, tuple[str, ...]]] = {
    "smoke": ("test_gpu", "debug-{number}", "smoke_{hash}", "hello"),
    "eval": ("eval-{date}", "bench_{model}_v{version}", "score_{hash}", "eval_{model}"),
    "sweep": ("sweep_{model}_lr", "hpo-{hash}", "ablation_{model}_v{version}", "grid_{number}"),
    "infer": ("infer_{model}", "generate-{date}", "embed_{hash}", "serve_{model}_v{version}"),
    "finetune": ("ft_{model}_v{version}", "lora-{model}-{hash}", "finetune_{model}"),
    "train": ("train_{model}_v{version}", "run-{hash}", "train-{model}-{date}"),
    "pretrain": ("pretrain_{model}_v{version}", "ddp_{model}-{hash}"),
    "notebook": ("interactive", "jupyter"),
    "analysis": ("md_analysis_{number}", "viz-{date}", "plot|hist_{number}", "röntgen_{version}"),
    "prep": ("prep-{date}", "tokenize_{model}", "build_dataset_v{version}"),
    "align": ("align_{number}", "bwa_array", "call_variants_{hash}"),
    "mpi": ("lammps_{version}", "wrf-{date}", "cp2k_{hash}", "openfoam_case{number}"),
    "post": ("collect_{number}", "merge-{date}", "plots"),
    "coupled": ("coupled_ocean_v{version}", "het_solver"),
}
MODELS: Final = ("resnet", "vit", "llama", "bert", "unet", "gnn", "whisper", "diffusion")
ACCOUNTS: Final = (
    *("physics", "chemistry", "genomics", "vision", "nlp", "climate", "robotics", "materials"),
    *("astro", "neuro", "econ", "energy"),
)
