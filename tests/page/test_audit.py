"""The files of audits that the page opens: none outside of their root, none that it trusts."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from wordsway.core.errors import InputError, WordswayError
from wordsway.page.audit import (
    audit_file,
    audit_steps,
    audits_steps,
    confined,
    folders,
    inside,
    start_steps,
)
from wordsway.page.worker import WorkerState

LEVEL = {"texts": 4, "score": 0.75, "low": 0.5, "high": 1.0, "overlap": 0.5}
KIND = {"kind": "negation", "levels": {"rewording": LEVEL}}
SPOT: dict[str, Any] = {
    "kind": "negation",
    "text": "he was good",
    "start": 3,
    "before": "was",
    "after": "was not",
    "change": 0.1,
    "keeping": "article",
    "keeping_text": "he was fine",
    "keeping_change": 0.2,
}
FLIPS = {"kind": "negation", "should": "?", "texts": 4, "flips": 0.5, "low": 0.1, "high": 0.9}
MODEL = {
    "name": "minilm",
    "levels": {"rewording": LEVEL},
    "kinds": [KIND],
    "blind_spots": [SPOT],
}
AUDIT: dict[str, Any] = {
    "models": [MODEL],
    "level": "rewording",
    "data": "everyday",
    "texts": 4,
    "target": "cosine",
    "draws": 8,
    "seed": 0,
}
SECRET = "root:x:0:0"


@pytest.fixture
def root(tmp_path) -> Path:
    """A folder of audits with one good audit, beside a folder with a secret."""
    outside, root = tmp_path / "outside", tmp_path / "root"
    (root / "good").mkdir(parents=True)
    (root / "bad").mkdir()
    outside.mkdir()
    for place in (root / "good", outside):
        (place / "audit.json").write_text(json.dumps(AUDIT))
        (place / "audit.csv").write_text(SECRET if place == outside else "model,kind")
    return root


def shown(root: Path, folder: str = "bad") -> dict[str, Any]:
    return next(audit_steps({"folder": folder}, WorkerState(audits=root)))


def file(root: Path, folder: str = "bad", ending: str = "csv") -> dict[str, Any]:
    return next(audit_file({"ending": ending, "folder": folder}, WorkerState(audits=root)))


def started(root: Path, folder: str = "bad") -> Any:
    ask = {"folder": folder, "models": ["minilm"], "data": "everyday", "kinds": None, "texts": 4}
    return next(start_steps(ask | {"seed": 0, "table": None}, WorkerState(audits=root)))


def test_a_good_audit_is_shown_and_saved(root):
    assert shown(root, "good")["result"] == AUDIT
    assert file(root, "good") == {"kind": "file", "name": "audit.csv", "text": "model,kind"}
    assert [one["folder"] for one in folders(root)] == ["good"]
    assert started(root, "good")["kind"] == "started"


@pytest.mark.parametrize("name", ["audit.csv", "audit.json"])
def test_a_linked_file_outside_is_not_served(root, name):
    (root / "bad" / name).symlink_to(root.parent / "outside" / name)
    with pytest.raises(InputError, match="inside the folder of audits"):
        file(root, ending=name.rpartition(".")[2])
    if name == "audit.json":
        with pytest.raises(InputError, match="inside the folder of audits"):
            shown(root)
    assert [one["folder"] for one in folders(root)] == ["good"]


def test_a_linked_folder_outside_is_not_served(root):
    (root / "way").symlink_to(root.parent / "outside", target_is_directory=True)
    for use in (shown, file, started):
        with pytest.raises(InputError, match="inside the folder of audits"):
            use(root, "way")
    listed = next(audits_steps({}, WorkerState(audits=root)))["audits"]
    assert [one["folder"] for one in listed] == ["good"]


@pytest.mark.parametrize("name", ["store", "store/segments"])
def test_nothing_is_written_through_a_linked_subfolder(root, name):
    link = root / "bad" / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(root.parent / "outside", target_is_directory=True)
    with pytest.raises(InputError, match="inside the folder of audits"):
        started(root)


def test_links_inside_of_the_root_and_a_linked_root_are_followed(root, tmp_path):
    (root / "again").symlink_to(root / "good", target_is_directory=True)
    (root / "bad" / "audit.csv").symlink_to(root / "good" / "audit.csv")
    (tmp_path / "link").symlink_to(root, target_is_directory=True)
    assert file(root)["text"] == "model,kind"
    assert shown(tmp_path / "link", "again")["result"] == AUDIT
    assert started(tmp_path / "link")["kind"] == "started"


@pytest.mark.parametrize(
    "parts",
    [
        ("..",),
        ("good", "..", "..", "outside", "audit.csv"),
        ("/etc/passwd",),
        ("good", "/etc/passwd"),
        ("a\0b",),
    ],
    ids=str,
)
def test_no_path_leads_out(root, parts):
    with pytest.raises(InputError, match="inside the folder of audits"):
        confined(root, *parts)
    with pytest.raises(InputError):
        inside(root, "/".join(parts))


def test_a_link_to_itself_is_refused_or_nothing(root):
    (root / "bad" / "audit.csv").symlink_to(root / "bad" / "audit.csv")
    with pytest.raises(WordswayError):
        file(root)


def test_an_own_table_is_kept_beside_the_audit(root):
    table = "text,rewording,change\nIt is open.,It is not shut.,It is closed.\n"
    ask = {"folder": "bad", "models": ["minilm"], "data": "gold", "kinds": None, "texts": 4}
    found = next(start_steps(ask | {"seed": 0, "table": table}, WorkerState(audits=root)))
    assert (root / "bad" / "own.csv").read_text("utf-8") == table
    assert "own.csv" in found["command"] and "own.csv" in found["python"]
    (root / "good" / "own.csv").symlink_to(root.parent / "outside" / "audit.csv")
    with pytest.raises(InputError, match="inside the folder of audits"):
        next(
            start_steps(
                ask | {"folder": "good", "seed": 0, "table": table}, WorkerState(audits=root)
            )
        )


def changed(*path: str | int, value: Any = ...) -> dict[str, Any]:
    """An audit with one field removed, or replaced by ``value``."""
    plain: Any = deepcopy(AUDIT)
    at = plain
    for part in path[:-1]:
        at = at[part]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return plain


ODD = {
    "a list": [],
    "null": None,
    "empty": {},
    "models of text": changed("models", value="minilm"),
    "a model of text": changed("models", 0, value="minilm"),
    "no kinds": changed("models", 0, "kinds"),
    "kinds of numbers": changed("models", 0, "kinds", value=[1, 2]),
    "a level without texts": changed("models", 0, "kinds", 0, "levels", "rewording", "texts"),
    "a score of text": changed("models", 0, "levels", "rewording", "score", value="high"),
    "no name": changed("models", 0, "name"),
    "a spot without text": changed("models", 0, "blind_spots", 0, "text"),
    "flips of text": changed("models", 0, "flips", value=[FLIPS | {"flips": "all"}]),
    "no data": changed("data"),
    "texts of text": changed("texts", value="four"),
}


@pytest.mark.parametrize("plain", ODD.values(), ids=ODD)
def test_an_audit_of_an_odd_shape_is_one_clear_line(root, plain):
    (root / "bad" / "audit.json").write_text(json.dumps(plain))
    with pytest.raises(
        WordswayError, match=r"audit\.json of bad cannot be used \(.+\): run"
    ) as told:
        shown(root)
    assert "\n" not in str(told.value) and len(str(told.value)) < 300


def test_the_labels_that_change_are_shown(root):
    (root / "bad" / "audit.json").write_text(
        json.dumps(changed("models", 0, "flips", value=[FLIPS]))
    )
    flips = shown(root)["result"]["flips"]
    assert flips["rows"] == [("minilm", "negation", "–", "4", "50 %", "10–90 %", "–")]
    assert flips["counts"] == "4 texts; 4 edits that may change the label (1 kind)."


def spoilt(score: str) -> dict[str, Any]:
    return changed("models", 0, "levels", "rewording", "score", value=score)


def test_unknown_fields_are_not_passed_on(root):
    (root / "bad" / "audit.json").write_text(json.dumps(AUDIT | {"more": "<script>"}))
    assert shown(root)["result"] == AUDIT


BYTES = {
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "not a number": json.dumps(spoilt("NaN")).replace('"NaN"', "NaN").encode(),
    "too large a number": json.dumps(spoilt("BIG")).replace('"BIG"', "1e999").encode(),
    "deep": json.dumps(AUDIT)[:-1].encode() + b', "more": ' + b"[" * 500 + b"]" * 500 + b"}",
    "deeper": b"[" * 100_000,
}


@pytest.mark.parametrize("content", BYTES.values(), ids=BYTES)
def test_an_audit_that_is_no_document_is_one_clear_line(root, content):
    (root / "bad" / "audit.json").write_bytes(content)
    with pytest.raises(WordswayError, match=r"audit\.json of bad cannot be used"):
        shown(root)


def test_a_file_that_is_no_text_is_one_clear_line(root):
    (root / "bad" / "audit.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(WordswayError, match=r"audit\.csv of bad cannot be used"):
        file(root)


@pytest.mark.slow
def test_the_server_tells_of_an_odd_audit_without_a_500(served, client):
    """The same through the whole server; its folder of audits is the one it was started with."""
    options = served.process.args
    assert isinstance(options, list)
    folder = Path(options[options.index("--audits") + 1]) / "odd"
    folder.mkdir()
    (folder / "audit.json").write_text(json.dumps(ODD["no kinds"]))
    (folder / "audit.csv").symlink_to("/etc/passwd")
    found = client.ask("/api/audit", folder="odd")
    assert (
        found.status == 409 and "models.0.kinds: Field required" in found.json["error"]["message"]
    )
    refused = client.ask("/api/file", ending="csv", audit={"folder": "odd"})
    assert refused.status == 400 and b"root:" not in refused.body
