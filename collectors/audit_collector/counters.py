"""The node's cumulative counters: pressure, network, InfiniBand, disks, NFS, Lustre. Reads only, once an interval.

A resource that the node does not have, or that may not be read, is left out: not measured.
"""

import os

from audit_collector.files import names, read_or_none, whole

_SECTOR_BYTES = 512
# InfiniBand counts words of four octets.
_IB_WORD_BYTES = 4
_LUSTRE = ("/proc/fs/lustre/llite", "/sys/kernel/debug/lustre/llite")


class Counters:
    """All counters of the node, read from below `root`."""

    def __init__(self, root: str, degraded: object) -> None:
        self.root = root
        self.degraded = degraded

    def read(self) -> dict:
        """The counters by the name of their column; bytes and seconds since boot or mount."""
        counted = {}
        for one in (self._pressure, self._network, self._infiniband, self._disks, self._nfs, self._lustre):
            try:
                one(counted)
            except (OSError, ValueError, IndexError) as error:
                self.degraded("node: %s could not be read: %s" % (one.__name__.strip("_"), error))
        return counted

    def _pressure(self, counted: dict) -> None:
        for resource, name in (("cpu", "cpu"), ("memory", "mem"), ("io", "io")):
            for text in (read_or_none(self.root + "/proc/pressure/" + resource) or b"").splitlines():
                kind, at = text[:4].decode(), text.find(b"total=")
                if at >= 0:
                    counted["psi_%s_%s_s" % (name, kind)] = int(text[at + 6 :]) / 1e6

    def _network(self, counted: dict) -> None:
        text = read_or_none(self.root + "/proc/net/dev")
        rows = {}
        for one in (text or b"").splitlines()[2:]:
            name, _, rest = one.partition(b":")
            rows[name.strip().decode("utf-8", "replace")] = rest.split()
        rows.pop("lo", None)
        # Bridges, bonds and pairs repeat what a card carries; where there is no card (a container) they are all.
        cards = [name for name in rows if os.path.exists(self.root + "/sys/class/net/" + name + "/device")]
        chosen = [rows[name] for name in cards or rows]
        if chosen:
            counted["net_rx_bytes"] = sum(int(words[0]) for words in chosen)
            counted["net_tx_bytes"] = sum(int(words[8]) for words in chosen)

    def _infiniband(self, counted: dict) -> None:
        base = self.root + "/sys/class/infiniband"
        for device in names(base):
            for port in names(base + "/" + device + "/ports"):
                for column, file in (("ib_rx_bytes", "port_rcv_data"), ("ib_tx_bytes", "port_xmit_data")):
                    text = read_or_none("%s/%s/ports/%s/counters/%s" % (base, device, port, file))
                    words = None if text is None else whole(text)
                    if words is not None:
                        counted[column] = counted.get(column, 0) + words * _IB_WORD_BYTES

    def _disks(self, counted: dict) -> None:
        block = self.root + "/sys/block/"
        # A whole disk has a device behind it; partitions, loops, mappings and RAID sets repeat or are none.
        disks = {name.replace("!", "/") for name in names(block) if os.path.exists(block + name + "/device")}
        for text in (read_or_none(self.root + "/proc/diskstats") or b"").splitlines():
            words = text.split()
            if len(words) > 12 and words[2].decode("utf-8", "replace") in disks:
                for column, at, unit in (
                    ("disk_read_bytes", 5, _SECTOR_BYTES),
                    ("disk_write_bytes", 9, _SECTOR_BYTES),
                    ("disk_busy_s", 12, 0.001),
                ):
                    counted[column] = counted.get(column, 0) + int(words[at]) * unit

    def _nfs(self, counted: dict) -> None:
        text = read_or_none(self.root + "/proc/self/mountstats") or b""
        if b" fstype nfs" not in text:
            return
        device = None
        by_device = {}
        for line in text.splitlines():
            if line.startswith(b"device "):
                device = line[: line.find(b" mounted on ")] if b" with fstype nfs" in line else None
            elif device is not None and line.startswith(b"\tbytes:"):
                words = line.split()
                # One export mounted twice shares its counters: taken once. The fifth and sixth are what the
                # server sent and was sent, so cached reads are not in it.
                by_device[device] = (int(words[5]), int(words[6]))
        if by_device:
            counted["nfs_read_bytes"] = sum(one[0] for one in by_device.values())
            counted["nfs_write_bytes"] = sum(one[1] for one in by_device.values())

    def _lustre(self, counted: dict) -> None:
        found = False
        for base in _LUSTRE:
            for mount in names(self.root + base):
                text = read_or_none(self.root + base + "/" + mount + "/stats")
                for line in (text or b"").splitlines():
                    words = line.split()
                    # name count `samples` [unit] min max sum
                    if len(words) > 6 and words[0] in (b"read_bytes", b"write_bytes"):
                        column = "lustre_" + words[0].decode()
                        counted[column] = counted.get(column, 0) + int(words[6])
                found = found or text is not None
            if found:
                return
        if b" lustre " in (read_or_none(self.root + "/proc/self/mounts") or b""):
            self.degraded("Lustre: its counters are in debugfs, which only root may read")
