"""The commands that give the evidence at a site: bounded per day, epoch times, a delimiter no name holds."""

# A free text never stands last or beside another: where a name holds line feeds, what follows tells its end.
# Every attempt, and no free text but the job's name (and jobstats' summary): submit lines can hold secrets.
SITE_FIELDS = """
    JobID JobIDRaw Cluster DBIndex User Account Partition QOS JobName Submit Eligible Start End ElapsedRaw Suspended
    AdminComment State TimelimitRaw NNodes NTasks AllocCPUS ReqCPUS ReqMem ReqTRES AllocTRES NodeList TotalCPU MaxRSS
    AveRSS TRESUsageInAve TRESUsageInMax TRESUsageInTot TRESUsageOutTot DerivedExitCode ExitCode
""".split()


def sacct_command(first: str = "2026-05-01", last: str = "2026-05-02") -> str:
    """The command that dumps one day of accounting, all of which we read."""
    return f"SLURM_TIME_FORMAT=%s sacct -a -D -P --delimiter=$'\\x1f' -S {first} -E {last} -o {','.join(SITE_FIELDS)}"


def sreport_command(first: str, last: str) -> str:
    """The command for Slurm's own utilization of the days from `first` up to, not including, `last`, in UTC.

    Its banner names the span in epoch seconds. Slurm fills the figures in once an hour: ask later than that.
    """
    kind = "-P -t Seconds -T cpu,mem,gres/gpu cluster utilization"
    return f"TZ=UTC SLURM_TIME_FORMAT=%s sreport {kind} start={first} end={last}"


def site_commands() -> str:
    """What to run at a site, ready to paste into bash on a node with Slurm's commands."""
    daily = sacct_command('"$day"', '"$(date -d "$day + 1 day" +%F)"')
    return f"""\
for n in $(seq 0 13); do day=$(date -d "2026-05-01 + $n days" +%F)
  {daily} > "sacct-$day.txt"
done
SLURM_TIME_FORMAT=%s scontrol show node -o > nodes.txt
SLURM_TIME_FORMAT=%s sacctmgr show event -P start=2026-05-01 > node-events.txt"""
