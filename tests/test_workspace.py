"""`audit.toml`: what it means, and that every error names key, line and remedy."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from audit.errors import ExitCode, UsageError
from audit.price_settings import OwnedNode
from audit.workspace import GIB, config_text, create_workspace, find_workspace, parse_config

BASE = 'cluster = "alpha"\ntimezone = "Europe/Berlin"\n'


def test_what_is_stated_is_what_holds() -> None:
    config = parse_config(
        BASE + "[window]\nfrom = 2026-05-01\nto = 2026-05-15T06:00:00Z\n"
        '[slice]\nnodes = "n[1-2]"\npartitions = ["gpu"]\n'
        '[[nodes]]\nnames = "n1"\ncores = 32\nmem_gib = 0.5\n'
        '[prices.accelerators]\na100 = "A100-80GB"\n[prices.usd_per_node_hour]\n"4xA100-80GB" = 12.5\n'
        '[prices.owned."cpu-8c-64GiB"]\ncapital_usd = 9000\nyears = 5\npower_kw = 0.5\npue = 1.2\n'
        "usd_per_kwh = 0.1\nrunning_usd_per_year = 0\n"
        "[policy]\ncoverage_floor = 0.5\nquantile = 0.95\n"
    )
    assert config.window_from == datetime(2026, 4, 30, 22, tzinfo=UTC)  # midnight in Berlin
    assert config.window_to == datetime(2026, 5, 15, 6, tzinfo=UTC)
    assert (config.slice_nodes, config.slice_partitions) == ("n[1-2]", ("gpu",))
    assert (config.node_sizes[0].mem_bytes, config.node_sizes[0].gpus) == (GIB // 2, None)
    assert (config.prices.accelerators["a100"], config.prices.classes["4xA100-80GB"]) == ("A100-80GB", 12.5)
    assert config.prices.owned == {"cpu-8c-64GiB": OwnedNode(9000, 5, 0.5, 1.2, 0.1, 0)}
    assert (config.policy.coverage_floor, config.policy.mem_step_bytes, config.policy.quantile) == (0.5, GIB, 0.95)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('timezone = "UTC"\n', "audit.toml:1: cluster is missing"),
        (BASE.replace("Europe/Berlin", "Mars/Base"), 'audit.toml:2: timezone "Mars/Base" is no time zone'),
        (BASE.replace("Europe/Berlin", "../etc/passwd"), "is no time zone"),
        (BASE + "colour = 1\n", "audit.toml:3: colour is not a key of ours; known: cluster, "),
        (BASE + "[window]\nfrom = 5\n", "audit.toml:4: window.from expects a date or a time"),
        (BASE + "[window]\nfrom = 2026-05-02\nto = 2026-05-01\n", "audit.toml:5: window.to is not after window.from"),
        (BASE + "[slice]\npartitions = 'gpu'\n", "audit.toml:4: slice.partitions expects a list of names"),
        (BASE + "[policy]\n\ncoverage_floor = 2\n", "audit.toml:5: policy.coverage_floor expects a share from 0 to 1"),
        (BASE + "[policy]\nquantile = 0.97\n", "audit.toml:4: policy.quantile expects one of 0.9, 0.95, 0.99, 0.995"),
        (BASE + "[policy]\nquantile = '0.9'\n", "policy.quantile expects"),
        (BASE + "[[nodes]]\ncores = 3\n", "audit.toml:3: nodes.names is missing"),
        (BASE + "[[nodes]]\nnames = 'n1'\ncores = 0\n", "audit.toml:5: nodes.cores expects a number above 0"),
        (BASE + "[prices.usd_per_node_hour]\nbig = 0\n", "audit.toml:4: prices.usd_per_node_hour.big expects a number"),
        (BASE + "[prices.usd_per_node_hour]\nbig = nan\n", "prices.usd_per_node_hour.big expects a number above 0"),
        (BASE + "[prices.usd_per_node_hour]\na = 1\nA = 2\n", "audit.toml:5: prices.usd_per_node_hour.A is the same"),
        (BASE + "[prices]\nbook = 'mine'\n", 'audit.toml:4: prices.book expects "list"'),
        (
            BASE + "[prices]\ncolour = 1\n",
            "audit.toml:4: prices.colour is not a key of ours; known: accelerators, book",
        ),
        (BASE + "[prices]\nunbundled = { core = 1 }\n", "audit.toml:4: prices.unbundled.core is not a key of ours"),
        (BASE + "[prices.accelerators]\na100 = 80\n", "audit.toml:4: prices.accelerators.a100 expects text"),
        (BASE + "prices = 3\n", "audit.toml:3: prices expects lines like"),
        (
            BASE + "[prices.owned.'a b']\npue = 0.9\n",
            'audit.toml:4: prices.owned."a b".pue expects a number, 1 or more',
        ),
        (BASE + "[prices.owned.a]\nyears = 4\n", "audit.toml:3: prices.owned.a.capital_usd is missing"),
        (BASE + "nodes = 3\n", "audit.toml:3: nodes is a list of tables"),
        (
            BASE + "node = 3\n",
            "audit.toml:3: node is not a key of ours; known: cluster, fleet, generated_sample, nodes, ",
        ),
        (BASE + "[slice]\nnodes = 'n*'\n", "audit.toml:4: slice.nodes expects a host list without wildcards"),
        (BASE + "[slice]\nnodes = 'n[01-20'\n", "audit.toml:4: slice.nodes expects a host list"),
        (BASE + "[[nodes]]\nnames = 'n[20-01]'\n", "audit.toml:4: nodes.names expects a host list"),
        (BASE + "[[nodes]]\nnames = 'n[1-3]'\n[[nodes]]\nnames = 'n2'\n", "nodes.names gives n2 a size twice"),
        (BASE + "[fleet]\ncontroller = '{{ x }}'\n", "audit.toml:4: fleet.controller expects the name of one host"),
        (BASE + "[fleet]\ncontroller = 'all'\n", "audit.toml:4: fleet.controller expects the name of one host"),
        (BASE + "[fleet]\npython = 'python3; id'\n", "audit.toml:4: fleet.python expects the path of an interpreter"),
        (BASE + "[fleet]\ndays = 400\n", "audit.toml:4: fleet.days expects days, at most 92"),
        (BASE + "[fleet]\nsample_s = 0.1\n", "audit.toml:4: fleet.sample_s expects seconds, from 1 to 3600"),
        (BASE + "[fleet]\nforks = 5\n", "audit.toml:4: fleet.forks is not a key of ours; known: become, controller, "),
        (BASE + "a = = 2\n", "audit.toml: is not TOML"),
    ],
)
def test_every_error_names_key_line_and_remedy(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_config(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_book_s_path_counts_from_the_folder_of_audit_toml(tmp_path: Path) -> None:
    create_workspace(tmp_path / "a", config_text(cluster="alpha", timezone="UTC").replace('"list" ', '"my.toml" ', 1))
    prices = find_workspace(tmp_path / "a").config.prices
    assert prices.folder / prices.book == tmp_path / "a" / "my.toml"


@pytest.mark.parametrize("name", ["alpha", 'a"b', "a\\b", "line\nfeed", "é\u202e", "]\n[policy]\ncoverage_floor = 0"])
def test_a_name_cannot_write_another_key(tmp_path: Path, name: str) -> None:
    create_workspace(tmp_path / "a", config_text(cluster=name, timezone="UTC", partitions=(name,)))
    config = find_workspace(tmp_path / "a").config
    assert (config.cluster, config.slice_partitions) == (name, (name,))
    assert config.policy.coverage_floor == 0.8


def test_a_folder_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    create_workspace(tmp_path, config_text(cluster="alpha", timezone="UTC"))
    with pytest.raises(UsageError, match="is there already"):
        create_workspace(tmp_path, config_text(cluster="beta", timezone="UTC"))
    assert find_workspace(tmp_path).config.cluster == "alpha"
