"""The site's own prices: its price book, what audit.toml states, in which currency, and every slip by its line."""

import pytest

from audit.errors import NoReportError, UsageError
from audit.price_settings import OwnedNode, Prices
from audit.pricing import class_price, gpu_rate, read_tariff, unbundled_rate

GIB = 2**30
OWNED = "capital = 240000\nyears = 4\npower_kw = 6\npue = 1.3\nper_kwh = 0.15\nrunning_per_year = 20000\n"
# 240000 / 4 / 8760 + 20000 / 8760 + 6 x 1.3 x 0.15 = 6.8493 + 2.2831 + 1.17
OWNED_HOUR = 10.302420


def with_book(folder, text, **more):
    (folder / "my.toml").write_text(text)
    return read_tariff(Prices(book="my.toml", folder=folder, **more))


def of_cpu_node(tariff):
    """The rate of a node with 64 cores and 256 GiB."""
    return class_price("", 64, None, 256 * GIB, tariff).rate


@pytest.mark.parametrize(
    ("text", "usd", "basis", "as_of"),
    [
        ('[node_hour]\n"cpu-64c-256GiB" = 2.5\n', 2.5, "contract", None),
        ('[node_hour]\n"CPU-64C-256gib" = 2.5\n', 2.5, "contract", None),
        ('basis = "list"\ndate = 2026-01-01\n[node_hour]\n"cpu-64c-256GiB" = 2\n', 2, "list", "2026-01-01"),
        ('currency = "USD"\nusd_per_unit = 1\n[node_hour]\n"cpu-64c-256GiB" = 2\n', 2, "contract", None),
        (
            'currency = "EUR"\nusd_per_unit = 1.08\ndate = "2026-01-01"\n[node_hour]\n"cpu-64c-256GiB" = 2.5\n',
            2.7,
            "contract",
            "2026-01-01",
        ),
        (f'[owned."cpu-64c-256GiB"]\n{OWNED}', OWNED_HOUR, "owned", None),
        (
            f'currency = "CHF"\nusd_per_unit = 1.25\n[owned."cpu-64c-256GiB"]\n{OWNED}',
            1.25 * OWNED_HOUR,
            "owned",
            None,
        ),
        (  # housed for nothing: 876 a year written off
            '[owned."cpu-64c-256GiB"]\ncapital = 3504\nyears = 4\npower_kw = 0\npue = 1\nper_kwh = 0.1\n'
            "running_per_year = 0\n",
            0.1,
            "owned",
            None,
        ),
    ],
)
def test_a_node_class_costs_what_the_site_s_book_says(tmp_path, text, usd, basis, as_of):
    rate = of_cpu_node(with_book(tmp_path, text))
    assert (rate.usd_per_hour, rate.basis, rate.as_of) == (pytest.approx(usd), basis, as_of)
    assert (rate.low_usd_per_hour, rate.high_usd_per_hour, rate.provider_names) == (None, None, ())


def test_an_owned_rate_spells_its_formula(tmp_path):
    text = f'name = "Depreciation"\nsource = "ledger 7"\n[owned."cpu-64c-256GiB"]\n{OWNED}'
    source = of_cpu_node(with_book(tmp_path, text)).source
    for part in (
        "my.toml",
        "Depreciation",
        "ledger 7",
        "240000 / 4",
        "20000",
        "8760",
        "6 kW",
        "1.3",
        "0.15",
        "10.3024",
    ):
        assert part in source


def test_what_audit_toml_states_goes_before_the_book(tmp_path):
    text = '[node_hour]\n"cpu-64c-256GiB" = 2.5\n"4xT4" = 1\n[unbundled]\ncore_hour = 0.02\nmem_gib_hour = 0.003\n'
    node = OwnedNode(240000, 4, 6, 1.3, 0.15, 20000)
    tariff = with_book(
        tmp_path,
        text,
        classes={"4XT4": 9.0},
        owned={"cpu-64c-256GiB": node},
        unbundled={"core_hour_usd": 0.01, "gpu_hour_usd": 0.5},
    )
    assert (of_cpu_node(tariff).usd_per_hour, of_cpu_node(tariff).basis) == (pytest.approx(OWNED_HOUR), "owned")
    assert class_price("gpu:t4=4", 8, None, GIB, tariff).rate.usd_per_hour == 9
    assert [unbundled_rate(r, tariff)[1].usd_per_hour for r in ("core", "mem_gib")] == [0.01, 0.003]
    assert gpu_rate("gpu:t4=4", tariff)[1].usd_per_hour == 0.5


@pytest.mark.parametrize(
    ("ask", "remedy"),
    [
        (lambda t: class_price("", 8, None, GIB, t), '[node_hour] in my.toml write "cpu-8c-1GiB" = '),
        (lambda t: class_price("gpu:t4=4", 8, None, GIB, t), '[node_hour] in my.toml write "4xT4" = '),
        (lambda t: class_price("gpu:a30=4", 8, None, GIB, t), '[node_hour] in my.toml write "4xa30" = '),
        (lambda t: unbundled_rate("core", t), "[unbundled] in my.toml write core_hour = "),
        (lambda t: gpu_rate("gpu:t4=1", t), "[unbundled] in my.toml write gpu_hour = "),
    ],
)
def test_what_the_book_does_not_name_has_no_price_unless_it_falls_back(tmp_path, ask, remedy):
    with pytest.raises(NoReportError) as caught:
        ask(with_book(tmp_path, '[node_hour]\n"8xH100" = 30\n'))
    assert remedy in str(caught.value)
    if "a30" not in remedy:  # the list book sells none either
        assert ask(with_book(tmp_path, 'fallback = "list"\n')) == ask(read_tariff(Prices()))


@pytest.mark.parametrize(
    ("gpu_hour", "gres", "name", "usd"),
    [
        ("1.5", "gpu:anything=2", "gpu", 1.5),
        ("1.5", "gpu=2", "gpu", 1.5),
        ('{ "A100-80GB" = 2, t4 = 0.4 }', "gpu:nvidia_a100_80gb_pcie=2", "gpu:A100-80GB", 2),
        ('{ "A100-80GB" = 2, T4 = 0.4 }', "gpu:t4=2", "gpu:t4", 0.4),
        ("{ a30 = 1 }", "gpu:a30_1g.6gb=4", "gpu:a30", 1),  # four quarters of a card
        ('{ "A100-80GB" = 2, t4 = 0.4 }', "gpu:a100_80gb=1,gpu:t4=3", "gpu:A100-80GB+t4", (2 + 3 * 0.4) / 4),
    ],
)
def test_a_gpu_hour_is_one_price_or_by_card(tmp_path, gpu_hour, gres, name, usd):
    tariff = with_book(tmp_path, f"[unbundled]\ngpu_hour = {gpu_hour}\n")
    found, rate = gpu_rate(gres, tariff)
    assert (found, rate.usd_per_hour, rate.basis) == (name, pytest.approx(usd), "contract")


EUR = 'currency = "EUR"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[node_hour]\n"cpu-8c-1GiB" = 0\n', ":2: node_hour.cpu-8c-1GiB expects a number above 0"),
        ('[node_hour]\na = 1\n\n"b c" = -1\n', ':4: node_hour."b c" expects a number above 0'),
        ("[node_hour]\na = nan\n", ":2: node_hour.a expects a number above 0"),
        ("[node_hour]\na = inf\n", ":2: node_hour.a expects a number above 0"),
        (f"[node_hour]\na = 1{'0' * 400}\n", ":2: node_hour.a expects a number above 0"),
        ("[node_hour]\na = true\n", ":2: node_hour.a expects a number above 0"),
        ('node_hour = { a = "1" }\n', ":1: node_hour.a expects a number above 0"),
        ("node_hour = 3\n", ":1: node_hour expects lines like"),
        ('[node_hour]\n"4xA100" = 1\n"4xa100" = 2\n', ":3: node_hour.4xa100 is the same as node_hour.4xA100"),
        (f"[node_hour]\n4xA100 = 1\n[owned.4xa100]\n{OWNED}", ":3: owned.4xa100 is the same as node_hour.4xA100"),
        ('currency = "EUX"\nusd_per_unit = 1\n', ":1: currency is no code of ISO 4217"),
        (EUR, ":1: currency needs usd_per_unit"),
        (f"{EUR}usd_per_unit = 0\n", ":2: usd_per_unit expects a number above 0"),
        ("\nusd_per_unit = 1.1\n", ":2: usd_per_unit of USD is 1"),
        ('basis = "guess"\n', ":1: basis expects one of"),
        ('fallback = "none"\n', ":1: fallback expects one of"),
        ("date = 3\n", ":1: date expects a date"),
        ('date = "May"\n', ":1: date expects a date"),
        ("date = 2026-01-01T00:00:00Z\n", ":1: date expects a date"),
        ("name = 3\n", ":1: name expects text"),
        ("prices = 3\n", ":1: prices is not a key of ours"),
        ("[unbundled]\ncore = 3\n", ":2: unbundled.core is not a key of ours"),
        ("[unbundled]\ncore_hour = 0\n", ":2: unbundled.core_hour expects a number above 0"),
        ("[unbundled]\ngpu_hour = 0\n", ":2: unbundled.gpu_hour expects a number above 0"),
        ("[unbundled]\ngpu_hour = { t4 = 0 }\n", ":2: unbundled.gpu_hour.t4 expects a number above 0"),
        ("[unbundled.gpu_hour]\nt4 = 1\nT4 = 1\n", ":3: unbundled.gpu_hour.T4 is the same as unbundled.gpu_hour.t4"),
        (f"[owned.a]\n{OWNED.replace('1.3', '0.9')}", ":5: owned.a.pue expects a number, 1 or more"),
        (f"[owned.a]\n{OWNED.replace('6', '-6')}", ":4: owned.a.power_kw expects a number, 0 or more"),
        (f"[owned.a]\n{OWNED.replace('years = 4', 'years = 0')}", ":3: owned.a.years expects a number above 0"),
        (f"[owned.a]\n{OWNED.replace('per_kwh', 'kwh')}", ":6: owned.a.kwh is not a key of ours"),
        ("[node_hour]\nb = 1\n[owned.a]\ncapital = 3\n", ":3: owned.a.years is missing"),
        ("[owned]\na = 3\n", ":2: owned.a expects lines like"),
        ("a = = 2\n", ": is not TOML"),
        ("a = " + "[" * 5000, ": is not TOML"),
    ],
)
def test_every_slip_in_the_book_is_one_line_with_file_key_and_line(tmp_path, text, says):
    with pytest.raises(UsageError) as caught:
        with_book(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'my.toml'}{says}")


@pytest.mark.parametrize("name", ["missing.toml", "folder.toml", "bytes.toml", "nul\0.toml"])
def test_a_book_that_cannot_be_read_is_one_line(tmp_path, name):
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"the price book cannot be read .*\[prices\] in audit.toml"):
        read_tariff(Prices(book=name, folder=tmp_path))
