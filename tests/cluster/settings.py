"""What every machine of the test cluster finds in /etc: Slurm's settings, accounts, munge key, SSH keys, users.

`write_seed` fills one folder that each machine copies over its root file system at its first start.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CLUSTER_NAME = "lab"
USERS = {"alice": 20001, "bob": 20002, "engineer": 20003}
"""User numbers: alice (account physics) and bob (account ml) submit jobs; engineer may use sudo."""

SLURM_CONF = """\
ClusterName={cluster}
SlurmctldHost=ctl
SlurmUser=slurm
AuthType=auth/munge
# A requeued job waits until its credential has expired, by default two minutes.
AuthInfo=cred_expire=15
StateSaveLocation=/var/spool/slurmctld
SlurmctldPidFile=/run/slurmctld.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdSpoolDir=/var/spool/slurmd
SlurmdPidFile=/run/slurmd.pid
SlurmdLogFile=/var/log/slurm/slurmd.log
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=none
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
PrologFlags=Contain
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=2,batch_sched_delay=0,sched_interval=5,sched_min_interval=100000
DefMemPerCPU=256
KillWait=3
MinJobAge=900
SlurmctldTimeout=30
SlurmdTimeout=60
JobAcctGatherType=jobacct_gather/{gatherer}
JobAcctGatherFrequency=task=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=ctl
AccountingStorageTRES=gres/gpu,gres/gpu:a100
GresTypes=gpu
{nodes}
PartitionName=batch Nodes=ALL Default=YES MaxTime=2-00:00:00 DefaultTime=00:10:00 State=UP
"""
CGROUP_CONF = """\
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
ConstrainCores={cores}
ConstrainRAMSpace=yes
ConstrainSwapSpace=no
ConstrainDevices=yes
"""
SLURMDBD_CONF = """\
DbdHost=ctl
SlurmUser=slurm
AuthType=auth/munge
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StorageLoc=slurm_acct_db
"""
DATABASE_SQL = """\
-- slurmdbd would make it, but with libmariadb 11.8.9 its connection is of no use once the database was missing.
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED VIA unix_socket;
GRANT ALL ON slurm_acct_db.* TO slurm@localhost;
"""
ACCOUNTS = """\
Cluster - '{cluster}':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'physics':Description='physics':Organization='university':Fairshare=1
Account - 'ml':Description='ml':Organization='university':Fairshare=1
Parent - 'physics'
User - 'alice':DefaultAccount='physics':Fairshare=1
Parent - 'ml'
User - 'bob':DefaultAccount='ml':Fairshare=1
"""
SSHD_CONFIG = """\
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
UseDNS no
MaxStartups 100
MaxSessions 100
Subsystem sftp /usr/lib/openssh/sftp-server
"""


@dataclass(frozen=True)
class Machine:
    """One machine of the cluster. A compute node has CPUs, the controller has none."""

    name: str
    address: str
    cpus: int = 0
    mem_mib: int = 0
    gpus: int = 0

    @property
    def slurm_line(self) -> str:
        """Its line in slurm.conf. CPUs and memory are what the machine claims, not what the host has."""
        gres = f" Gres=gpu:a100:{self.gpus}" if self.gpus else ""
        return f"NodeName={self.name} CPUs={self.cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={self.cpus} ThreadsPerCore=1 RealMemory={self.mem_mib}{gres}"


def write_seed(base: Path, rootfs: Path, machines: Sequence[Machine], gatherer: str, cores: bool) -> None:
    """Writes BASE/seed (copied into each machine), BASE/ssh (the client's side) and BASE/home with its users."""
    seed = base / "seed"
    accounts = _accounts(rootfs)

    def put(path: str, text: str | bytes, mode: int = 0o644, owner: str = "root") -> None:
        file = seed / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        file.chmod(mode)
        os.chown(file, accounts[owner], accounts[owner] if owner in USERS else -1)

    nodes = [machine for machine in machines if machine.cpus]
    put(
        "etc/slurm/slurm.conf",
        SLURM_CONF.format(cluster=CLUSTER_NAME, gatherer=gatherer, nodes="\n".join(n.slurm_line for n in nodes)),
    )
    put("etc/slurm/cgroup.conf", CGROUP_CONF.format(cores="yes" if cores else "no"))
    put(
        "etc/slurm/gres.conf",
        "".join(f"NodeName={n.name} Name=gpu Type=a100 File=/dev/nvidia[0-{n.gpus - 1}]\n" for n in nodes if n.gpus),
    )
    put("etc/slurm/slurmdbd.conf", SLURMDBD_CONF, 0o600, "slurm")
    put("etc/slurm/accounts.cfg", ACCOUNTS.format(cluster=CLUSTER_NAME))
    put("etc/slurm/database.sql", DATABASE_SQL)
    put("etc/hosts", "127.0.0.1 localhost\n" + "".join(f"{m.address} {m.name}\n" for m in machines))
    put("etc/munge/munge.key", secrets.token_bytes(128), 0o400, "munge")
    (seed / "etc/munge").chmod(0o700)
    os.chown(seed / "etc/munge", accounts["munge"], -1)
    put("etc/sudoers.d/engineer", "engineer ALL=(ALL) NOPASSWD: ALL\n", 0o440)
    (seed / "etc/sudoers.d").chmod(0o750)
    put("etc/ssh/sshd_config", SSHD_CONFIG)
    put("usr/local/bin/burn", Path(__file__).with_name("burn.py").read_text(), 0o755)
    for file in ("passwd", "group", "shadow"):
        lines = [line for line in (rootfs / "etc" / file).read_text().splitlines() if line.split(":")[0] not in USERS]
        lines += [_account_line(file, user, number) for user, number in USERS.items()]
        put(f"etc/{file}", "\n".join(lines) + "\n", 0o640 if file == "shadow" else 0o644)
    put("root/.bashrc", "")
    (seed / "root").chmod(0o700)
    _write_keys(base, seed, machines)
    for user, number in USERS.items():
        home = base / "home" / user
        home.mkdir(parents=True)
        if user == "engineer":
            shutil.copytree(seed / "root/.ssh", home / ".ssh")
        for path in (home, *home.rglob("*")):
            os.chown(path, number, number)


def _accounts(rootfs: Path) -> dict[str, int]:
    """User numbers by name, as the root file system has them."""
    rows = (line.split(":") for line in (rootfs / "etc/passwd").read_text().splitlines())
    return {row[0]: int(row[2]) for row in rows} | USERS


def _account_line(file: str, user: str, number: int) -> str:
    return {
        "passwd": f"{user}:x:{number}:{number}::/home/{user}:/bin/bash",
        "group": f"{user}:x:{number}:",
        "shadow": f"{user}:*:19000:0:99999:7:::",
    }[file]


def _write_keys(base: Path, seed: Path, machines: Sequence[Machine]) -> None:
    """One host key for all machines, one client key for root and engineer, and the client's files that know both."""
    client = base / "ssh"
    client.mkdir()
    (seed / "root/.ssh").mkdir(mode=0o700)
    for key in (client / "id_ed25519", seed / "etc/ssh/ssh_host_ed25519_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test cluster", "-f", key], check=True)
    shutil.copy(client / "id_ed25519.pub", seed / "root/.ssh/authorized_keys")
    (seed / "root/.ssh/authorized_keys").chmod(0o600)
    host_key = (seed / "etc/ssh/ssh_host_ed25519_key.pub").read_text()
    (client / "known_hosts").write_text("".join(f"{m.name},{m.address} {host_key}" for m in machines))
    common = f"""\
    IdentityFile {client}/id_ed25519
    IdentitiesOnly yes
    UserKnownHostsFile {client}/known_hosts
    GlobalKnownHostsFile /dev/null
    ConnectTimeout 5
    LogLevel ERROR
"""
    config = "".join(
        f"Host {m.name}\n    HostName {m.address}\n    HostKeyAlias {m.name}\n    User root\n{common}" for m in machines
    )
    (client / "config").write_text(config)
    (client / "hosts.ini").write_text(
        "[nodes]\n"
        + "".join(f"{m.name}\n" for m in machines if m.cpus)
        + "[controller]\nctl\n[all:vars]\n"
        + f"ansible_ssh_common_args=-F {client}/config\nansible_python_interpreter=/usr/bin/python3\n"
    )
