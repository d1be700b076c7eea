"""`audit.toml`: what it means, and that every error names key, line and remedy."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from audit.errors import ExitCode, UsageError
from audit.workspace import GIB, config_text, create_workspace, find_workspace, parse_config

BASE = 'cluster = "alpha"\ntimezone = "Europe/Berlin"\n'


def test_what_is_stated_is_what_holds() -> None:
    config = parse_config(
        BASE + "[window]\nfrom = 2026-05-01\nto = 2026-05-15T06:00:00Z\n"
        '[slice]\nnodes = "n[1-2]"\npartitions = ["gpu"]\n'
        '[[nodes]]\nnames = "n1"\ncores = 32\nmem_gib = 0.5\n'
        '[prices.accelerators]\na100 = "A100-80GB"\n[prices.usd_per_node_hour]\n"4xA100-80GB" = 12.5\n'
        "[policy]\ncoverage_floor = 0.5\n"
    )
    assert config.window_from == datetime(2026, 4, 30, 22, tzinfo=UTC)  # midnight in Berlin
    assert config.window_to == datetime(2026, 5, 15, 6, tzinfo=UTC)
    assert (config.slice_nodes, config.slice_partitions) == ("n[1-2]", ("gpu",))
    assert (config.node_sizes[0].mem_bytes, config.node_sizes[0].gpus) == (GIB // 2, None)
    assert (config.prices.accelerators["a100"], config.prices.classes["4xA100-80GB"]) == ("A100-80GB", 12.5)
    assert (config.policy.coverage_floor, config.policy.mem_step_bytes) == (0.5, GIB)


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
        (BASE + "[[nodes]]\ncores = 3\n", "audit.toml:3: nodes.names is missing"),
        (BASE + "[[nodes]]\nnames = 'n1'\ncores = 0\n", "audit.toml:5: nodes.cores expects a number above 0"),
        (
            BASE + "[prices.usd_per_node_hour]\nbig = 0\n",
            "audit.toml:3: prices.usd_per_node_hour expects a number above 0",
        ),
        (BASE + "[prices]\nbook = 'mine'\n", 'audit.toml:4: prices.book knows "list"'),
        (BASE + "nodes = 3\n", "audit.toml:3: nodes is a list of tables"),
        (BASE + "node = 3\n", "audit.toml:3: node is not a key of ours; known: cluster, generated_sample, nodes, "),
        (BASE + "[slice]\nnodes = 'n*'\n", "audit.toml:4: slice.nodes expects a host list without wildcards"),
        (BASE + "[slice]\nnodes = 'n[01-20'\n", "audit.toml:4: slice.nodes expects a host list"),
        (BASE + "[[nodes]]\nnames = 'n[20-01]'\n", "audit.toml:4: nodes.names expects a host list"),
        (BASE + "[[nodes]]\nnames = 'n[1-3]'\n[[nodes]]\nnames = 'n2'\n", "nodes.names gives n2 a size twice"),
        (BASE + "a = = 2\n", "audit.toml: is not TOML"),
    ],
)
def test_every_error_names_key_line_and_remedy(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_config(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == ExitCode.USAGE


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
