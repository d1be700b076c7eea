"""Which hosts carry a collector, and under which name: the slice joined to the customer's inventory."""

from pathlib import Path

import pytest

from audit.errors import UsageError
from audit.fleet.slice import Target, inventory_hosts, plan
from audit.units import hosts

NODE, CONTROLLER = ("node",), ("controller",)


@pytest.mark.parametrize(
    ("nodes", "known", "controller", "expected"),
    [
        (["n1", "n2"], [], "ctl", [("n1", "n1", NODE), ("n2", "n2", NODE), ("ctl", "ctl", CONTROLLER)]),
        # Slurm's short names, the inventory's long ones: SSH goes by the inventory, the collector by Slurm.
        (
            ["n1"],
            ["n1.site.org", "ctl.site.org"],
            "ctl",
            [("n1.site.org", "n1", NODE), ("ctl.site.org", "ctl", CONTROLLER)],
        ),
        (["n1"], ["n1", "n1.site.org"], "ctl", [("n1", "n1", NODE), ("ctl", "ctl", CONTROLLER)]),
        # A small site's controller is one of its nodes: one collector with both roles.
        (["n1", "n2"], [], "n2", [("n1", "n1", NODE), ("n2", "n2", ("node", "controller"))]),
        (["n1"], ["n1.x"], "n1", [("n1.x", "n1", ("node", "controller"))]),
        (["n1"], ["n1.x"], "n1.x", [("n1.x", "n1", ("node", "controller"))]),
    ],
)
def test_each_host_is_one_target(
    nodes: list[str], known: list[str], controller: str, expected: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    assert plan(nodes, known, controller) == tuple(Target(*target) for target in expected)


@pytest.mark.parametrize(
    "name", ["all", "ungrouped", "audit", "-oProxyCommand=id", "n1:!n2", "a*", "{{ x }}", "n 1", "", "n1\n", "~x", "@f"]
)
def test_a_name_that_is_a_pattern_an_option_or_a_template_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        plan([name], [], "ctl")
    with pytest.raises(UsageError):
        plan(["n1"], [name, "x"], name)


@pytest.mark.parametrize(
    ("nodes", "known", "controller"),
    [
        (["n1", "n1.site.org"], ["n1.site.org"], "ctl"),  # one host twice would be one collector with one name
        (["localhost"], [], "ctl"),  # Slurm of another machine calls itself so; this one is not meant
        (["n1", "localhost"], ["localhost"], "ctl"),
    ],
)
def test_a_host_that_is_not_what_it_seems_is_refused(nodes: list[str], known: list[str], controller: str) -> None:
    with pytest.raises(UsageError):
        plan(nodes, known, controller)


def test_a_machine_that_is_the_whole_cluster_is_watched_in_both_roles() -> None:
    assert plan(["localhost"], [], "localhost") == (Target("localhost", "localhost", ("node", "controller")),)


def test_a_slice_of_thousands_is_planned() -> None:
    nodes = hosts("n[0001-5000],n[0001-5000]")
    planned = plan(nodes, [f"{node}.site.org" for node in nodes], "ctl")
    assert len(planned) == 5001
    assert planned[4999] == Target("n5000.site.org", "n5000", NODE)


def test_an_inventory_whose_path_holds_spaces_is_read(tmp_path: Path) -> None:
    path = tmp_path / "our hosts; $(id)" / "hosts -x.ini"
    path.parent.mkdir()
    path.write_text("n1\n")
    assert inventory_hosts(path) == ("n1",)
    with pytest.raises(UsageError, match="comma"):
        inventory_hosts(path.rename(tmp_path / "n1,n2"))


def test_an_inventory_is_read_as_ansible_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "hosts.ini"
    path.write_text("[gpu]\nn[1:3].site.org\n[rest:children]\ngpu\ncpu\n[cpu]\nlogin ansible_host=10.0.0.9\n")
    assert inventory_hosts(path) == ("login", "n1.site.org", "n2.site.org", "n3.site.org")


def test_an_inventory_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.ini: is not there"):
        inventory_hosts(tmp_path / "none.ini")
