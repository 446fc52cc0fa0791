"""Two prompts, one causal model: numbers equal transformers' own; hostile prompts; exit codes."""

from __future__ import annotations

import io
import itertools
import json
import math
import random
import subprocess
import sys
from decimal import Decimal, getcontext

import pytest
import torch
from rich.console import Console

import pages
import tiny
from pages import printed
from wordsway import data
from wordsway.cli.app import run
from wordsway.core.errors import InputError, WordswayError
from wordsway.models.causal import Causal
from wordsway.models.files import locate
from wordsway.models.load import Loading
from wordsway.models.probe import Probe
from wordsway.probing.compare import compare, layer_changes
from wordsway.probing.differences import divergence, line_up, word_edits

A, B = "the film was good and fine", "the film was dull and fine"
TEMPLATE = (
    "{% for turn in messages %}she {{ turn['content'] }}{% endfor %}"
    "{% if add_generation_prompt %} and he{% endif %}"
)
HOSTILE = [
    "\x1b[2Jthe film\x00",
    "<script>alert(1)</script>",
    "😀 film 👩‍👩‍👧",
    "مرحبا film",
    "[bold]film[/bold] $x^",
    "a" * 300,
    "film\u202egood",
]


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def causal(folder, architecture="llama", *, chat=False, **changes):
    """A causal model of random weights, large enough ones that its answers vary, saved with its
    head and tokenizer.
    """
    import transformers as tf

    tiny.save(folder, architecture)
    config = tf.AutoConfig.from_pretrained(
        folder, initializer_range=0.6, tie_word_embeddings=False, **changes
    )
    torch.manual_seed(3)
    tf.AutoModelForCausalLM.from_config(config).eval().save_pretrained(folder)
    made = tiny.tokenizer()
    made.post_processor = None
    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]", eos_token="[SEP]"
    )
    tokenizer.chat_template = TEMPLATE if chat else None
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    kinds = [(name, chat) for name in ("llama", "gpt2") for chat in (False, True)]
    return {
        kind: causal(tmp_path_factory.mktemp("causal"), kind[0], chat=kind[1]) for kind in kinds
    }


@pytest.fixture(scope="module")
def llama(models):
    return models["llama", False]


def own(folder, spelled):
    """What transformers itself gives: ids, hidden states, logits of the last row, the greedy
    answer's ids.
    """
    import transformers as tf

    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    model = tf.AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = torch.tensor([tokenizer(spelled, add_special_tokens=False)["input_ids"]])
    with torch.no_grad():
        out = model(ids, output_hidden_states=True)
        said = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=6,
            pad_token_id=0,
        )
    return (
        ids[0].tolist(),
        [state[0] for state in out.hidden_states],
        out.logits[0, -1],
        tokenizer.decode(said[0, ids.shape[1] :], True),
    )


def naive_divergence(p, q):
    """KL in 60 digits."""
    getcontext().prec = 60
    p, q = ([Decimal(float(value)) for value in some] for some in (p, q))
    p, q = ([value.exp() for value in some] for some in (p, q))
    p, q = ([value / sum(some) for value in some] for some in (p, q))
    return float(sum(one * (one / other).ln() for one, other in zip(p, q, strict=True)))


def naive_change(a, b, rows):
    """‖H(a) − H(b)‖/‖H(a)‖ number by number."""
    moved = sum(
        (x - y) ** 2 for i, j in rows for x, y in zip(a[i].tolist(), b[j].tolist(), strict=True)
    )
    return math.sqrt(moved / sum(x**2 for i, _ in rows for x in a[i].tolist()))


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("b", [B, "the film was not very dull and fine", "the cast was bad"])
def test_numbers_equal_the_models_own(models, architecture, chat, b):
    folder = models[architecture, chat]
    found = compare(A, b, folder, tokens=6, top=40)
    spelled = [f"she {text} and he" if chat else text for text in (A, b)]
    (ids_a, hidden_a, logits_a, said_a), (ids_b, hidden_b, logits_b, said_b) = (
        own(folder, text) for text in spelled
    )
    assert (list(found.a.ids), list(found.b.ids), found.chat) == (ids_a, ids_b, chat)
    assert (found.a.answer, found.b.answer) == (said_a, said_b)
    assert found.kl_ab == pytest.approx(naive_divergence(logits_a, logits_b), rel=1e-5)
    assert found.kl_ba == pytest.approx(naive_divergence(logits_b, logits_a), rel=1e-5)
    pairs = range(len(ids_a))
    if len(ids_a) == len(ids_b):
        rows = [(i, i) for i in pairs]
    else:
        head = next(i for i in pairs if ids_a[i] != ids_b[i])
        tail = next(i for i in pairs if ids_a[-1 - i] != ids_b[-1 - i])
        rows = [(i, i) for i in range(head)] + [(-1 - i, -1 - i) for i in range(max(1, tail))]
    first = next(i for i in pairs if ids_a[i] != ids_b[i])
    behind = [(i, j) for i, j in rows if i >= first or i < 0]
    assert (found.aligned, len(found.layers)) == (len(rows), 4)
    for one, h_a, h_b in zip(found.layers, hidden_a, hidden_b, strict=True):
        assert one.change == pytest.approx(naive_change(h_a, h_b, rows), rel=1e-5)
        assert one.behind == pytest.approx(naive_change(h_a, h_b, behind), rel=1e-5)
        alike = [naive_change(h_a, h_b, [pair]) ** 2 for pair in rows]
        assert one.rows == pytest.approx(math.sqrt(sum(alike) / len(alike)), rel=1e-5)
        assert one.last == pytest.approx(naive_change(h_a, h_b, [(-1, -1)]), rel=1e-5, abs=1e-12)
    p_a, p_b = logits_a.double().softmax(0), logits_b.double().softmax(0)
    assert sum(one.probability for one in found.a.next) == pytest.approx(1)
    assert [one.probability for one in found.b.next] == sorted(
        (one.probability for one in found.b.next), reverse=True
    )
    for likely in found.a.next:
        assert (likely.probability, likely.other) == pytest.approx(
            (float(p_a[likely.token]), float(p_b[likely.token])), rel=1e-5
        )


@pytest.mark.slow
def test_smollm2_answers_and_equals_its_own():
    """The real one, in a chat template, briefly."""
    if not data.present("smollm2"):
        pytest.skip("smollm2 is not here")
    found = compare("Name the capital of France.", "Name the capital of Italy.", tokens=7)
    assert found.chat and ("Paris" in found.a.answer, "Rome" in found.b.answer) == (True, True)
    assert [(edit.a, edit.b) for edit in found.edits] == [("France", "Italy")]
    assert (
        len(found.layers) == 31
        and found.layers[0].last == 0
        and found.layers[-1].last > 0.01
        and found.kl_ab > 0
    )
    import transformers as tf

    from wordsway.models.files import locate

    folder = locate("smollm2").folder
    tokenizer, model = (
        tf.AutoTokenizer.from_pretrained(folder),
        tf.AutoModelForCausalLM.from_pretrained(folder).eval(),
    )
    turns = [[{"role": "user", "content": side.prompt}] for side in (found.a, found.b)]
    with torch.no_grad():
        outs = [
            model(
                **tokenizer.apply_chat_template(
                    turn, add_generation_prompt=True, return_tensors="pt", return_dict=True
                )
            ).logits[0, -1]
            for turn in turns
        ]
    p, q = (one.double().log_softmax(0) for one in outs)
    assert found.kl_ab == pytest.approx(
        float(torch.nn.functional.kl_div(q, p, log_target=True, reduction="sum")), rel=1e-4
    )


def test_divergence_is_exact_where_it_is_small_large_and_extreme():
    rng = torch.Generator().manual_seed(0)
    base = torch.randn(50, generator=rng, dtype=torch.float64)
    for moved in (1e-7, 1e-3, 1.0, 30.0):
        other = base + moved * torch.randn(50, generator=rng, dtype=torch.float64)
        assert divergence(base.log_softmax(0), other.log_softmax(0)) == pytest.approx(
            naive_divergence(base, other), rel=1e-6
        )
    assert divergence(base.log_softmax(0), base.log_softmax(0)) == 0
    far, near = (
        torch.tensor(some, dtype=torch.float64).log_softmax(0)
        for some in ([0.0, -2000.0], [-2000.0, 0.0])
    )
    assert divergence(far, near) == pytest.approx(2000) and math.isfinite(divergence(near, far))


def test_edits_turn_one_prompt_into_the_other():
    """Applied from the back, the edits give b's words; and they touch nothing that is the same at
    both ends.
    """
    rng = random.Random(0)
    for _ in range(200):
        a, b = (
            " ".join(
                rng.choice(["the", "a", "film", ",", "don't", "é😀"])
                for _ in range(rng.randint(1, 9))
            )
            for _ in range(2)
        )
        text = a
        for edit in reversed(word_edits(a, b)):
            assert (a[slice(*edit.a_span)], b[slice(*edit.b_span)]) == (edit.a, edit.b)
            text = f"{text[: edit.a_span[0]]} {edit.b} {text[edit.a_span[1] :]}"
        assert text.split() == b.split()
    assert [(e.a, e.b, e.a_words, e.b_words) for e in word_edits("I saw it", "I never saw it")] == [
        ("", "never", (), (1,))
    ]
    assert [(e.a, e.b) for e in word_edits("good good film", "good film")] == [("good", "")]
    assert word_edits("a  b", "a b") == ()
    assert len(word_edits("x " * 5000, "y " * 5000)) == 1


def test_rows_line_up():
    assert line_up([1, 2, 3], [1, 5, 3]) == [(0, 0), (1, 1), (2, 2)]
    assert line_up([1, 2], [1, 2, 3]) == [(0, 0), (1, 2)], (
        "the last row meets the last, not its copy"
    )
    assert line_up([3], [1, 2, 3]) == [(0, 2)]
    assert line_up([7, 7], [7, 7, 7]) == [(0, 0), (1, 2)]
    rng = random.Random(1)
    for _ in range(300):
        a, b = ([rng.randint(0, 2) for _ in range(rng.randint(1, 7))] for _ in range(2))
        rows = line_up(a, b)
        assert rows[-1] == (len(a) - 1, len(b) - 1)
        assert all(i < k and j < l for (i, j), (k, l) in itertools.pairwise(rows)), (
            "in order, no row twice"
        )
        assert len(a) == len(b) or all(a[i] == b[j] for i, j in rows[:-1])


def test_a_sink_row_does_not_decide():
    """A row a hundred times longer than all others, which does not move: rows count alike."""
    before = torch.tensor([[100.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    after = torch.tensor([[100.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    pairs = [(row, row) for row in range(3)]
    (found,), scaling = layer_changes([before], [after], pairs, 1)
    assert scaling == "rows" and found.rows == pytest.approx(math.sqrt(2 / 3))
    assert found.change == pytest.approx(math.sqrt(2) / before.norm())
    assert layer_changes([before[1:]], [after[1:]], pairs[:2], 0)[1] == "frobenius"


def test_an_answer_says_whether_it_was_cut(models, tmp_path):
    long = compare(A, B, models["llama", False], tokens=5)
    assert long.a.cut and long.a.answer_tokens == 5
    first = long.a.next[0].token
    ends = compare(A, B, causal(tmp_path, "llama", eos_token_id=first), tokens=5)
    assert (ends.a.cut, ends.a.answer_tokens) == (False, 1)


def test_an_answer_through_a_window_is_transformers_own(tmp_path):
    folder = causal(tmp_path, "mistral", sliding_window=4)
    model = Causal(locate(folder), Loading(kind="causal"), chat=False)
    prompt = model.read("the film was good and the plot was bad or not very dull and fine")
    assert model.answer(prompt, 6)[0] == own(folder, prompt.text)[3]


def test_the_same_on_every_run(llama):
    one, two = (compare(A, B, llama, tokens=4).to_dict() for _ in range(2))
    for name in ("seconds", "peak_mb"):
        assert one.pop(name) > 0 and two.pop(name) > 0
    assert one == two
    frame = compare(A, B, llama, tokens=1).frame()
    assert list(frame.columns) == ["layer", "change", "behind", "last", "rows"] and list(
        frame["layer"]
    ) == [0, 1, 2, 3]


def test_prompts_that_the_model_reads_alike(llama):
    found = compare("The film", "the film", llama, tokens=2)
    assert found.same_tokens and found.kl_ab == 0 and all(one.change == 0 for one in found.layers)
    assert "same tokens" in shown(found)


def shown(found):
    file = io.StringIO()
    Console(file=file, width=80).print(found)
    return file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_prompts(models, text, capsys):
    """They are read as they are, and drive neither the terminal nor the JSON."""
    folder = models["gpt2", True]
    assert (
        run(["compare", "--model", str(folder), "--tokens", "2", "--json", "--", text, "the film"])
        == 0
    )
    document = json.loads(capsys.readouterr().out)
    assert document["a"]["prompt"] == text
    view = shown(compare(text, "the film", folder, tokens=2))
    assert not pages.HARMFUL.search(view)
    assert all(len(line) <= 80 for line in view.splitlines())
    if "bold" in text:
        assert "[bold]film[/bold]" in view


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        (A, A, {}, "the same prompt twice"),
        ("", B, {}, "first prompt with words"),
        (A, " \n\t", {}, "second prompt with words"),
        ("\ud800 film", B, {}, "lone surrogates"),
        (b"film", B, {}, "decode bytes first"),
        ("film " * 80, B, {}, "at most 64 tokens"),
        (A, B, {"tokens": 60}, "fewer --tokens"),
        (A, B, {"tokens": 0}, "tokens ≥ 1"),
        (A, B, {"dtype": "int4"}, "a dtype among"),
        (A, B, {"device": "abacus"}, "a device of this machine"),
    ],
)
def test_wrong_requests(llama, a, b, options, message):
    with pytest.raises(InputError, match=message):
        compare(a, b, llama, **options)


@pytest.mark.slow
def test_models_without_a_head_are_compared_by_layers_and_embeddings(tmp_path):
    """Encoders, the encoder of an encoder-decoder, decoders saved without their head: layers and
    the cosine distance with transformers alone; no answers, no next token; a probe will do.
    """
    import transformers as tf

    encode = tiny.tokenizer().encode
    for name in ("bert", "t5", "gpt2"):
        folder = tiny.save(tmp_path / name, name)
        found = compare(A, B, Probe(folder) if name == "bert" else folder)
        model = tf.AutoModel.from_pretrained(folder).eval()
        model = model.get_encoder() if model.config.is_encoder_decoder else model
        states = []
        for text in (A, B):
            with torch.no_grad():
                ids = torch.tensor([encode(text).ids])
                states.append(model(input_ids=ids, output_hidden_states=True).hidden_states)
        for layer, first, second in zip(found.layers, *states, strict=True):
            true = float((first - second).norm() / first.norm())
            assert layer.change == pytest.approx(true, rel=1e-4)
        a, b = (hidden[-1][0].mean(0) for hidden in states)
        cosine = 1 - float(torch.nn.functional.cosine_similarity(a, b, dim=0))
        assert found.cosine == pytest.approx(cosine, rel=1e-2, abs=1e-6)
        assert found.kl_ab is None and found.a.answer == "" and found.a.next == ()
        shown = printed(found, 80)
        assert "cosine distance" in shown and "next after" not in shown
        found.save(tmp_path / f"{name}.html")
        found.save(tmp_path / f"{name}.svg")


def test_an_encoder_under_a_language_head_is_refused(tmp_path):
    import transformers as tf

    tiny.save(tmp_path / "both", "bert")
    tf.BertLMHeadModel(tf.AutoConfig.from_pretrained(tmp_path / "both")).save_pretrained(
        tmp_path / "both"
    )
    with pytest.raises(InputError, match="rows attend to later tokens"):
        compare(A, B, tmp_path / "both")


def test_a_template_that_fails_and_doing_without(tmp_path):
    folder = causal(tmp_path, "llama", chat=True)
    (folder / "chat_template.jinja").write_text("{{ raise_exception('no such role') }}")
    with pytest.raises(WordswayError, match=r"no such role.*--no-chat"):
        compare(A, B, folder)
    assert compare(A, B, folder, chat=False, tokens=1).chat is False


@pytest.mark.slow
def test_the_command_itself_knows_chat_templates(models):
    """In a process of its own, which leaves out much of what transformers imports."""
    folder = models["llama", True]
    command = [sys.executable, "-m", "wordsway", "compare", A, B, "--model", str(folder)]
    done = subprocess.run([*command, "--tokens", "3", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found, here = json.loads(done.stdout), compare(A, B, folder, tokens=3)
    assert found["chat"] and found["a"]["ids"] == list(here.a.ids)
    assert found["a"]["answer"] == here.a.answer


@pytest.mark.slow
def test_exit_statuses(llama, tmp_path, capsys):
    model = ["--model", str(llama), "--tokens", "2"]
    assert run(["compare", A, B, *model]) == 0
    out, err = capsys.readouterr()
    assert "“good” → “dull” (word 3)" in out and "KL(a‖b)" in out and err == ""
    assert run(["compare", A, B, *model, "--json"]) == 0
    assert {"a", "b", "edits", "layers", "kl_ab", "kl_ba", "model", "versions"} <= json.loads(
        capsys.readouterr().out
    ).keys()
    assert (
        run(
            [
                "compare",
                A,
                B,
                *model,
                "--html",
                str(tmp_path / "new" / "a.html"),
                "--out",
                str(tmp_path / "a.png"),
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert out.count("written: ") == 2 and out.count("a.html (in a new folder)\n") == 1
    assert "good" in (tmp_path / "new" / "a.html").read_text() and (tmp_path / "a.png").exists()
    broken = tmp_path / "broken"
    causal(broken, "llama")
    (broken / "model.safetensors").write_bytes(b"nothing")
    capsys.readouterr()
    wrong = [
        ([A], 2),
        ([A, A, *model], 2),
        ([A, "", *model], 2),
        ([A, B, *model, "--out", "a.gif"], 2),
        ([A, B, "--model", str(tmp_path / "none")], 2),
        ([A, B, "--model", str(broken)], 1),
    ]
    for arguments, status in wrong:
        assert run(["compare", *arguments]) == status, arguments
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("wordsway: ") and err.count("\n") == 1
