#!/bin/bash
# PID 1 of one machine of the test cluster. It runs in namespaces of its own and in its own cgroups.
# argv: BASE NAME ROOTFS GPUS.   stdin: one line when eth0 is there, a second one when slurmd may start.
# stdout: its process number as the host counts, then "up". It ends the machine by ending itself.
set -eu
base=$1 name=$2 rootfs=$3 gpus=$4
read -r pid _ </proc/self/stat # /proc is still the host's here
echo "$pid"
read -r _
hostname "$name"
mount --make-rprivate /

# The disk: its own file system in a file, so that it can fill up, and so that files read are page cache.
image=$base/$name.img disk=$base/disk
while losetup --associated "$image" | grep -q .; do sleep .05; done # the machine before a reboot lets go of it
device=$(losetup --find --show --direct-io=on "$image")
mkdir -p "$disk"
mount "$device" "$disk"
losetup --detach "$device" # takes effect with the last unmount
root=$disk/root
new=false
[ -d "$root" ] || new=true
mkdir -p "$disk/upper" "$disk/work" "$root"
mount -t overlay overlay -o "lowerdir=$rootfs,upperdir=$disk/upper,workdir=$disk/work" "$root"

mount -t proc proc "$root/proc"
mount --bind "$base/boot-id-$name" "$root/proc/sys/kernel/random/boot_id"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs -o mode=755 cgroup "$root/sys/fs/cgroup"
for controller in $CONTROLLERS; do
    mkdir "$root/sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" cgroup "$root/sys/fs/cgroup/$controller"
done
mount -t tmpfs -o mode=755 dev "$root/dev"
for file in null zero full random urandom tty; do
    : >"$root/dev/$file"
    mount --bind "/dev/$file" "$root/dev/$file"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
for ((i = 0; i < gpus; i++)); do mknod -m 666 "$root/dev/nvidia$i" c 195 "$i"; done # no driver: opening fails
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
if $new; then
    rm -f "$root"/etc/rc?.d/* "$root"/etc/ssh/ssh_host_* # of the machine that runs the tests
    cp -a "$base/seed/." "$root/"
fi
mkdir -p "$root/var/log/slurm" "$root/run/test-clock" "$root/run/old"
mount --bind "$disk/upper" "$root/mnt" # what the machine changed, for its listing
mount --bind "$base/home" "$root/home" # shared by all machines, as by NFS
mount --bind "$base/log/$name" "$root/var/log/slurm"
mount --bind "$base/clock/$name" "$root/run/test-clock"
cd "$root"
pivot_root . run/old
cd /
umount -l /run/old
rmdir /run/old

own() { install -d -o "$1" -g "$1" -m "$2" "$3"; }
listens() { until (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; do sleep .05; done; }
own root 755 /run/sshd
own munge 755 /run/munge
own munge 700 /var/lib/munge
own munge 700 /var/log/munge
/usr/sbin/sshd -o PidFile=/run/sshd.pid
setpriv --reuid munge --regid munge --clear-groups /usr/sbin/munged
if [ "$name" = ctl ]; then
    own slurm 755 /run/mysqld
    own slurm 755 /var/spool/slurmctld
    database=/var/lib/accounting
    [ -d $database ] || mariadb-install-db --no-defaults --user=slurm --datadir=$database --skip-test-db \
        --auth-root-authentication-method=socket
    mariadbd --no-defaults --user=slurm --datadir=$database --socket=/run/mysqld/mysqld.sock --skip-networking \
        --pid-file=/run/mysqld/mysqld.pid --init-file=/etc/slurm/database.sql --innodb-buffer-pool-size=64M \
        --innodb-log-file-size=16M --innodb-flush-log-at-trx-commit=0 --innodb-lock-wait-timeout=900 \
        --innodb-doublewrite=0 --character-set-server=utf8mb4 --collation-server=utf8mb4_general_ci &
    until [ -S /run/mysqld/mysqld.sock ]; do sleep .05; done
    slurmdbd
    listens 6819
    ! $new || sacctmgr -i load /etc/slurm/accounts.cfg
    slurmctld
    listens 6817
else
    read -r _
    slurmd
fi >&2
for script in /etc/rc3.d/S*; do
    [ ! -x "$script" ] || "$script" start </dev/null >&2 || true
done
echo up
exec </dev/null >&2
set +e
while :; do
    sleep infinity &
    wait $!
done
