"""The registry: every map by its name, with options, references and costs that can be trusted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import wordsway as ws
from wordsway.core.runtime import peak_bytes
from wordsway.maps.registry import MAPS, all_options, check_options, kind_of
from wordsway.page.theory import MAP_COLOURS

ONE_POINT = ws.Plan(starts=1, explore=0, keep=1, rounds=0, steps=2)
SIZES = [(10, 40, 1), (60, 192, 60), (250, 768, 1), (8_000, 768, 8_000)]


@pytest.mark.parametrize("name", MAPS)
def test_a_kind_builds_the_map_of_its_name(name: str) -> None:
    kind = kind_of(name)
    phi = kind.build(5, 4, 7)
    X = ws.Sample.gaussian(5, 4, 0)
    assert phi.name == name == kind.name
    assert phi(X).numel() == kind.features(5, 4)
    assert torch.equal(phi(X), kind.build(5, 4, 7, **dict.fromkeys(all_options()))(X))


def test_titles_and_colours_tell_maps_apart() -> None:
    assert len({kind.title for kind in MAPS.values()}) == len(MAPS)
    assert len({MAP_COLOURS.get(name) for name in MAPS}) == len(MAPS)


def test_unknown_names_and_options_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ws.InputError, match="rf, drf, raf, relu-raf, sigmoid"):
        kind_of("swish-raf")
    with pytest.raises(ws.InputError, match="k only with rf or drf"):
        check_options("raf", {"k": 3})
    with pytest.raises(ws.InputError, match="k ≥ 1"):
        check_options("rf", {"k": 0})
    with pytest.raises(ws.InputError, match="depth between 1 and 1000"):
        kind_of("drf").build(3, 2, 0, depth=0)
    with pytest.raises(ws.InputError, match="options of raf"):
        kind_of("raf").build(3, 2, 0, depth=2)
    check_options("raf", {"k": None, "depth": None})
    with pytest.raises(ws.InputError, match="residual only with raf"):
        check_options("rf", {"residual": True})
    with pytest.raises(ws.InputError, match="norm to be a string among layer"):
        check_options("raf", {"norm": "batch"})
    with pytest.raises(ws.InputError, match="a read-out among all, mean, last"):
        kind_of("raf").build(3, 2, 0, read_out="first")


def test_options_reach_the_map() -> None:
    phi: Any = kind_of("drf").build(3, 2, 0, k=5, depth=4)
    assert (phi.k, phi.depth) == (5, 4)
    assert kind_of("drf").features(3, 2, k=5) == 5
    assert kind_of("rf").features(3, 2) == 6
    wrapped = kind_of("raf").build(3, 2, 0, residual=True, norm="rms", read_out="mean")
    expected = ws.read_out(ws.rms_norm(ws.residual(ws.RAF(2, 0))), "mean")
    X = ws.Sample.gaussian(3, 2, 0)
    assert torch.equal(wrapped(X), expected(X))
    heads = kind_of("attention").build(3, 2, 0, heads=2, residual=True, norm="layer")
    assert torch.equal(heads(X), ws.layer_norm(ws.residual(ws.Attention(2, 0, heads=2)))(X))
    block = kind_of("gpt-block").build(3, 2, 0, heads=2, mask="causal", hidden=5)
    inner = ws.Attention(2, 0, heads=2, mask="causal")
    assert torch.equal(block(X), ws.transformer_block(inner, 2, hidden=5, seed=0)(X))
    with pytest.raises(ws.InputError, match="divides d=2"):
        kind_of("gpt-block").check(3, 2, heads=3)
    assert kind_of("raf").features(3, 2, residual=True, read_out="mean") == 2
    assert kind_of("raf").features(3, 2, residual=True, read_out="all") == 6


def test_references_are_predictions_or_go_through_what_was_measured() -> None:
    measured = {10: 2.0, 40: 1.2, 90: 0.7}
    for kind in MAPS.values():
        for reference in kind.references(16):
            values = reference.values([10, 40, 90], measured)
            assert all(value > 0 for value in values)
            if reference.anchor == "first":
                assert values[0] == pytest.approx(2.0)
            elif reference.anchor == "mean":
                assert sum(values) / 3 == pytest.approx(1.3)
            else:
                assert values == reference.values([10, 40, 90], {})
    (raf,) = kind_of("raf").references(16)
    (relu,) = kind_of("relu-raf").references(16)
    assert raf.values([10, 90], measured) == [pytest.approx(1.3)] * 2
    assert relu.values([90], measured) == [pytest.approx(2.0 / 3)]
    for name in ("rf", "drf"):  # the curves are ReLU's
        assert kind_of(name).references(16, activation="relu") and not kind_of(name).references(
            16, activation="sigmoid"
        )


@pytest.mark.parametrize("name", MAPS)
def test_bytes_grow_with_what_is_measured(name: str) -> None:
    count = kind_of(name).peak_bytes
    base = count(60, 64, 1)
    assert 0 < count(60, 64, 1, certificate=False) <= base  # some have no certificate
    assert count(90, 64, 1) > base and count(60, 128, 1) > base
    assert count(60, 64, 60) >= count(60, 64, 6) >= base


def test_deeper_maps_need_more_and_a_missing_depth_is_the_default() -> None:
    drf = kind_of("drf")
    assert drf.peak_bytes(20, 64, 1) == drf.peak_bytes(20, 64, 1, depth=2)
    assert drf.peak_bytes(20, 64, 1, depth=5) > drf.peak_bytes(20, 64, 1)


@pytest.mark.parametrize("name", MAPS)
def test_counting_bytes_allocates_nothing(name: str) -> None:
    before = peak_bytes()
    for n, d, rows in SIZES:
        kind_of(name).peak_bytes(n, d, rows)
    kind_of(name).peak_bytes(10**6, 10**5, 10**6)
    assert peak_bytes() - before < 5e6


MEASURE = """
import json, sys, torch, wordsway as ws
from wordsway.maps.registry import kind_of
from wordsway.core.runtime import peak_bytes
name, n, d, rows, options = json.loads(sys.argv[1])
torch.set_num_threads(1)
ws.sensitivity(ws.RAF(4, 0), ws.Sample.gaussian(5, 4, 0), positions=0)
before = peak_bytes()
phi = kind_of(name).build(n, d, 1, **options)
ws.sensitivity(phi, ws.Sample.gaussian(n, d, 0), positions=list(range(rows)), effort=0.2)
print(peak_bytes() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "d", "rows", "options"),
    [
        ("raf", 1200, 64, 1, {}),
        ("relu-raf", 700, 64, 1, {}),
        ("sigmoid", 700, 64, 1, {}),
        ("raf", 900, 64, 1, {"residual": True, "norm": "layer"}),
        ("gpt-block", 300, 64, 1, {}),
        ("rf", 100, 384, 1, {}),
        ("drf", 40, 192, 1, {"depth": 3}),
    ],
)
def test_counted_bytes_are_those_of_a_measurement(
    name: str, n: int, d: int, rows: int, options: dict[str, Any]
) -> None:
    asked = json.dumps([name, n, d, rows, options])
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, asked],
        capture_output=True,
        text=True,
        check=True,
        # Otherwise glibc keeps freed memory, more or less of it by the order of allocations.
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "131072"},
    )
    counted = kind_of(name).peak_bytes(n, d, rows, effort=0.2, **options)
    assert 0.5 * counted - 1e7 <= float(ran.stdout) <= 1.6 * counted + 1e7


OTHER = """
import torch

def cauchy(d, seed, tail=1.0):
    \"\"\"Attention with Cauchy weights.\"\"\"
    draw = torch.Generator().manual_seed(seed)
    W = torch.empty(d, d, dtype=torch.float64).cauchy_(0, tail, generator=draw) / d
    return lambda X: torch.softmax(X @ W @ X.mT, -1) @ X

def no_default(d, seed, tail): ...
"""
ENTRIES = """
[wordsway.maps]
cauchy = other_maps:cauchy
raf = other_maps:cauchy
broken = other_maps:missing
no-default = other_maps:no_default
"""


@pytest.mark.slow
def test_maps_of_other_packages_are_found_by_their_entry_points(tmp_path: Path) -> None:
    (tmp_path / "other_maps.py").write_text(OTHER)
    about = tmp_path / "other_maps-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other-maps\nVersion: 1.5\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "grid.toml").write_text(
        '[[grid]]\nmap = "cauchy"\nn = 4\nd = 3\ntail = [1.0, 2.0]\n'
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])

    def said(*words: str) -> tuple[Any, str]:
        done = subprocess.run(
            [sys.executable, "-m", "wordsway", *words, "--json"],
            env=os.environ | {"PYTHONPATH": path},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    measured, warned = said("measure", "--map", "cauchy", "--n", "4", "--d", "3", "--tail", "2")
    assert measured["map"] == "cauchy" and measured["tail"] == 2.0 and measured["mean"] > 0
    for name in ("raf", "broken", "no-default"):
        assert f"ignoring the map {name} of other-maps 1.5" in warned
    grid = ("sweep", "grid.toml", "--out", "out", "--workers", "1")
    assert said(*grid)[0]["done"] == 2 and said(*grid)[0]["before"] == 2
    (tmp_path / "other_maps.py").write_text(OTHER.replace("-1) @ X", "-1) @ (3 * X)"))
    assert said(*grid)[0]["done"] == 2, "its source is part of a cell"
