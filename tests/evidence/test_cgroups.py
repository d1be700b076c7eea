import pytest

from audit.evidence.cgroups import job_of_cgroup


@pytest.mark.parametrize(
    ("path", "job"),
    [
        ("/sys/fs/cgroup/system.slice/slurmstepd.scope/job_4242/step_batch/user/task_0", "4242"),
        ("/sys/fs/cgroup/system.slice/slurmstepd.scope/s5K1AAAAAAAA00/step_0/user/task_0", "sluid:s5K1AAAAAAAA00"),
        ("/sys/fs/cgroup/system.slice/node7_slurmstepd.scope/job_4243/step_0", "4243"),
        ("/sys/fs/cgroup/memory/slurm/uid_1000/job_4244/step_0/task_0", "4244"),
        ("/sys/fs/cgroup/memory/slurm_node7/uid_1000/job_4245", "4245"),
        ("/sys/fs/cgroup/system.slice/sshd.service", None),
        ("/sys/fs/cgroup/memory/slurm_node7/uid_1000", None),
    ],
)
def test_the_job_of_a_control_group(path: str, job: str | None) -> None:
    assert job_of_cgroup(path) == job
