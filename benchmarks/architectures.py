"""Tiny models of many architectures, each measured by wordsway and by transformers alone.

Every model is built from its configuration with random weights and saved with a tokenizer made on
the fly, so that nothing is fetched. Several things are compared on one text (`CHECKS`): each agrees
with transformers, is refused for the reason that stands here, or counts as a fault.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

import wordsway as ws
from wordsway.auditing.encoder import Encoder
from wordsway.core.errors import WordswayError, first_line
from wordsway.models.causal import Causal
from wordsway.models.files import locate
from wordsway.models.load import Loading, quiet

VOCABULARY = (
    "the a film was good bad dull fine and or not very i you it she he they plot cast we all one "
    "end song tale scene"
)
TEXT = "the film was good and she was not dull"
PLACE, OTHERS = 3, ("bad", "fine", "plot", "very")
#: Largest relative difference that rounding explains, for states and for the Jacobian's norm, which
#: is approached from below and differentiated numerically here.
CLOSE, JACOBIAN = 1e-4, 0.02
#: Sizes under all the names that configurations have for them.
SIZES: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "emb_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layers", "n_layer", "num_layers"), 3),
    **dict.fromkeys(("encoder_layers", "num_encoder_layers"), 3),
    **dict.fromkeys(("decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_heads", "n_head", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads"), 4),
    **dict.fromkeys(("intermediate_size", "hidden_dim", "n_inner", "d_inner", "d_ff"), 48),
    **dict.fromkeys(("ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim"), 48),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"), 80),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("d_kv", "head_dim"), 8),
    "vocab_size": 40,
    "num_key_value_heads": 2,
    "moe_intermediate_size": 24,
    "num_experts_per_tok": 2,
    "initializer_range": 0.2,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
}


#: Reasons for which a check is refused, as the error words them.
USES_IDS = "computes other numbers from embeddings (inputs_embeds) than from token ids"
NO_EMBEDS = "does not run from embeddings"
NO_TABLE = "has no input embedding matrix"
NO_ROWS = "not one row per token"
NO_GRADIENT = "carries no gradient"
OWN_BACKWARD = "defines its own backward pass, which is not the derivative of its states"
NO_ATTENTION = "gives no attention weights"
NO_MATRIX = "attention is not a matrix from every token to every other"
NO_TEXT = "does not run on token ids alone"
NOT_CAUSAL = "whose rows attend to later tokens"


CHECK_NAMES = ("states", "embeddings", "swap", "attention", "next-token", "verbs")


@dataclass(frozen=True)
class Architecture:
    """A model type of transformers; ``given`` overrides `SIZES`, ``left`` are sizes that its
    configuration computes itself, ``refused`` the reason by check.
    """

    name: str
    given: dict[str, Any] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    kind: str = ""

    def config(self) -> Any:
        from transformers import CONFIG_MAPPING

        kind = CONFIG_MAPPING[self.kind or self.name]
        with quiet():
            known = kind()
            sizes = {
                name: size
                for name, size in SIZES.items()
                if name not in self.left and hasattr(known, name)
            }
            return kind(**sizes | self.given)


def plain(names: str, **refused: str) -> list[Architecture]:
    return [Architecture(name, refused=refused) for name in names.split()]


def hybrid(name: str, kinds: str, **given: Any) -> Architecture:
    """Layers of several kinds."""
    return Architecture(name, given | {"layer_types": kinds.split()})


#: Models that cannot be moved by embeddings.
FIXED = dict.fromkeys(("embeddings", "swap"), NO_EMBEDS)
MAMBA = {"mamba_n_heads": 4, "mamba_d_state": 8, "mamba_n_groups": 1, "mamba_chunk_size": 8}

ARCHITECTURES: tuple[Architecture, ...] = (
    # encoders
    *plain(
        "bert distilbert albert roberta xlm-roberta xlm-roberta-xl camembert electra mpnet deberta "
        "deberta-v2 convbert mobilebert megatron-bert rembert roformer nystromformer layoutlm "
        "ernie ibert modernbert nomic_bert eurobert roberta-prelayernorm data2vec-text splinter "
        "tapas bert-generation flaubert xlm gte jina_embeddings_v3"
    ),
    *plain("mra big_bird fnet", attention=NO_ATTENTION),
    *plain("yoso", attention=NO_MATRIX, embeddings=OWN_BACKWARD),
    *plain("clip_text_model", **FIXED),
    *plain("esm", embeddings=USES_IDS, swap=USES_IDS),
    *plain("canine", states=NO_ROWS, embeddings=NO_TABLE, swap=NO_TABLE, attention=NO_MATRIX),
    Architecture("esmc", {"num_key_value_heads": 4}, refused=FIXED),
    Architecture("squeezebert", {"embedding_size": 32}),
    Architecture("longformer", {"attention_window": [8, 8, 8]}, refused={"attention": NO_MATRIX}),
    Architecture(
        "xlnet", left=("max_position_embeddings", "n_ctx"), refused={"next-token": NOT_CAUSAL}
    ),
    Architecture("luke", {"entity_vocab_size": 8, "entity_emb_size": 8}),
    Architecture("roc_bert", {"pronunciation_vocab_size": 40, "shape_vocab_size": 40}),
    Architecture("xmod", {"languages": ["en_XX"], "default_language": "en_XX"}),
    Architecture(
        "funnel",
        {"block_sizes": [1, 1, 1], "architectures": ["FunnelModel"]},
        ("num_hidden_layers",),
        {"states": NO_ROWS, "embeddings": NO_ROWS, "attention": NO_MATRIX},
    ),
    Architecture("perceiver", refused=dict.fromkeys(CHECK_NAMES, NO_TEXT)),
    Architecture(
        "reformer",
        {
            "axial_pos_embds_dim": [16, 16],
            "axial_pos_shape": [8, 10],
            "attn_layers": ["local", "lsh", "local"],
        },
        refused={"embeddings": NO_GRADIENT},
    ),
    # encoders of encoder–decoder models
    *plain(
        "t5 mt5 umt5 switch_transformers bart mbart pegasus marian m2m_100 blenderbot "
        "blenderbot-small bigbird_pegasus plbart mvp"
    ),
    *plain("longt5", attention=NO_MATRIX),
    Architecture(
        "led",
        {"attention_window": [8, 8, 8], "max_encoder_position_embeddings": 80},
        refused={"attention": NO_MATRIX},
    ),
    Architecture("prophetnet", left=("num_hidden_layers",)),
    # decoders
    *plain(
        "gpt2 gpt_neox gpt_neox_japanese gpt_bigcode opt bloom mpt llama mistral mixtral qwen2 "
        "qwen3 qwen3_moe gemma gemma2 gemma3_text phi phi3 phimoe olmo olmo2 olmo3 olmoe "
        "cohere cohere2 stablelm starcoder2 persimmon granite granitemoe glm glm4 helium nemotron "
        "jetmoe openai-gpt biogpt xglm smollm3 ernie4_5 exaone4 arcee gpt_oss doge diffllama "
        "bitnet apertus seed_oss modernbert-decoder vaultgemma ministral hunyuan_v1_dense "
        "cwm flex_olmo jais2 nanochat afmoe llama4_text"
    ),
    *plain("minimax", attention=NO_MATRIX),
    Architecture("ctrl", {"dff": 48}),
    Architecture("qwen2_moe", {"shared_expert_intermediate_size": 24}),
    Architecture("opt-projected", {"word_embed_proj_dim": 16}, kind="opt"),
    Architecture("gpt_neo", {"attention_types": [[["global", "local", "global"], 1]]}),
    Architecture("gptj", {"rotary_dim": 4}),
    Architecture("codegen", {"rotary_dim": 4}),
    Architecture("falcon", left=("head_dim",)),
    Architecture(
        "gemma3n_text",
        {
            "num_hidden_layers": 6,
            "layer_types": ["sliding_attention", "full_attention"] * 3,
            "num_kv_shared_layers": 2,
            "hidden_size_per_layer_input": 8,
            "vocab_size_per_layer_input": 40,
            "laurel_rank": 4,
            "activation_sparsity_pattern": [0.0] * 6,
        },
        refused=dict.fromkeys(("states", "embeddings", "swap", "next-token"), NO_ROWS),
    ),
    # state spaces, and hybrids of them and attention
    *plain("mamba falcon_mamba", attention=NO_ATTENTION),
    *plain("rwkv", attention=NO_MATRIX),
    *plain("recurrent_gemma olmo_hybrid"),
    Architecture(
        "mamba2",
        {"num_heads": 8, "head_dim": 8, "state_size": 8, "n_groups": 2, "chunk_size": 8},
        refused={"attention": NO_ATTENTION},
    ),
    hybrid("lfm2", "conv full_attention conv"),
    hybrid("lfm2_moe", "conv full_attention conv"),
    hybrid(
        "qwen3_next",
        "linear_attention full_attention linear_attention",
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        shared_expert_intermediate_size=24,
    ),
    hybrid(
        "granitemoehybrid",
        "mamba attention mamba",
        shared_intermediate_size=24,
        mamba_d_head=16,
        **MAMBA,
    ),
    Architecture(
        "jamba",
        {
            "num_hidden_layers": 4,
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "use_mamba_kernels": False,
        },
    ),
    Architecture("bamba", {"attn_layer_indices": [1], "mamba_d_head": 16} | MAMBA),
    Architecture("falcon_h1", {"mamba_d_ssm": 32, "mamba_d_head": 8} | MAMBA),
    Architecture(
        "nemotron_h",
        {
            "mamba_num_heads": 4,
            "mamba_head_dim": 8,
            "n_groups": 2,
            "ssm_state_size": 8,
            "chunk_size": 8,
        },
    ),
)


def tokenizer() -> Any:
    """Whole words in lower case, between [CLS] and [SEP]."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = ["[CLS]", "[PAD]", "[SEP]", "[UNK]"]
    vocabulary = {word: number for number, word in enumerate([*special, *VOCABULARY.split()])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    return made


def save(architecture: Architecture, folder: Path) -> Path:
    """The model with random weights, with its head for the next token where it has one."""
    import transformers

    torch.manual_seed(0)
    config = architecture.config()
    decoder = type(config) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING and not (
        type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING or config.is_encoder_decoder
    )
    auto = transformers.AutoModelForCausalLM if decoder else transformers.AutoModel
    with quiet():
        auto.from_config(config).eval().save_pretrained(folder)
    tokenizer().save(str(folder / "tokenizer.json"))
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(tokenizer_object=tokenizer(), pad_token="[PAD]").save_pretrained(folder)
    return folder


class Alone:
    """The same folder through transformers, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = self._load("AutoModel")

    def _load(self, auto: str, **options: Any) -> Any:
        import transformers

        with quiet():
            model = getattr(transformers, auto).from_pretrained(self.folder, **options).eval()
        encoder = auto == "AutoModel" and model.config.is_encoder_decoder
        return model.get_encoder() if encoder else model

    @property
    def causal(self) -> bool:
        return any("Causal" in one or "LMHead" in one for one in self.model.config.architectures)

    @cached_property
    def head(self) -> Any:
        return self._load("AutoModelForCausalLM")

    @torch.no_grad()
    def states(self, ids: torch.Tensor) -> list[torch.Tensor]:
        inputs = {"input_ids": ids[None], "attention_mask": torch.ones_like(ids)[None]}
        return [one[0] for one in self.model(**inputs, output_hidden_states=True).hidden_states]

    @torch.no_grad()
    def attentions(self, ids: torch.Tensor) -> dict[int, torch.Tensor]:
        """Each layer's attention; its number is that of the module that gives it, by its name."""
        model = self._load("AutoModel", attn_implementation="eager")
        given: list[tuple[str, Any]] = []
        hooks = [
            module.register_forward_hook(lambda *call, name=name: given.append((name, call[-1])))
            for name, module in model.named_modules()
        ]
        inputs = {"input_ids": ids[None], "attention_mask": torch.ones_like(ids)[None]}
        every = getattr(model(**inputs, output_attentions=True), "attentions", None) or ()
        found = [one for one in every if one is not None]
        for hook in hooks:
            hook.remove()
        numbers = [
            next(
                (
                    int(re.findall(r"\.(\d+)\.", name)[0])
                    for name, out in given
                    if isinstance(out, tuple)
                    and any(part is one for part in out)
                    and re.search(r"\.(\d+)\.", name)
                ),
                place,
            )
            for place, one in enumerate(found)
        ]
        if len(set(numbers)) < len(found):  # one module for all layers
            numbers = list(range(len(found)))
        return {
            number + 1: one[0]
            for number, one in zip(numbers, found, strict=True)
            if one is not None
        }

    @torch.no_grad()
    def next_token(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.head(input_ids=ids[None]).logits[0, -1].double(), 0)

    @torch.no_grad()
    def jacobian(self, ids: torch.Tensor, row: int) -> torch.Tensor:
        """∂ last states/∂ row of the embedding matrix, (outputs, ·), by central differences."""
        try:
            found = self._jacobian(self._load("AutoModel", dtype=torch.float64), ids, row, 1e-5)
        except RuntimeError:  # no products in float64: mixtures of experts
            found = torch.tensor(torch.nan)
        if bool(found.isfinite().all()):
            return found
        return self._jacobian(self.model, ids, row, 2e-3)

    @staticmethod
    def _jacobian(model: Any, ids: torch.Tensor, row: int, step: float) -> torch.Tensor:
        weight = model.get_input_embeddings().weight
        inputs = {"input_ids": ids[None], "attention_mask": torch.ones_like(ids)[None]}
        columns = []
        for place in range(weight.shape[1]):
            ends = []
            for sign in (1, -1):
                kept = weight.data[ids[row], place].clone()
                weight.data[ids[row], place] += sign * step
                ends.append(model(**inputs, output_hidden_states=True).hidden_states[-1].flatten())
                weight.data[ids[row], place] = kept
            columns.append((ends[0] - ends[1]) / (2 * step))
        return torch.stack(columns, 1).double()


def apart(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """‖ours − theirs‖/‖theirs‖."""
    ours, theirs = ours.detach().double(), theirs.detach().double()
    if ours.shape != theirs.shape:
        return float("inf")
    return float((ours - theirs).norm() / theirs.norm().clamp_min(1e-12))


@dataclass(frozen=True)
class Case:
    """A saved model, opened by both."""

    folder: Path
    probe: ws.Probe
    alone: Alone

    @cached_property
    def ids(self) -> torch.Tensor:
        return torch.tensor(self.probe.reader.ids([TEXT])[0])

    def changed(self, word: str) -> torch.Tensor:
        return torch.tensor(self.probe.reader.ids([TEXT.replace("good", word)])[0])


def _states(case: Case) -> float:
    """Every layer from token ids, and the pooled vectors of all layers."""
    theirs, layers = case.alone.states(case.ids), case.probe.layers
    mask = torch.ones_like(case.ids)[None]
    if len(theirs) != layers.count + 1:
        return float("inf")
    pooled = Encoder(case.probe).pooled([tuple(case.ids.tolist())])[0]
    return max(
        *(
            apart(layers.hidden(number, case.ids[None], mask)[0], one)
            for number, one in enumerate(theirs)
        ),
        *(
            apart(ours[: one.shape[1]], one.mean(0))
            for ours, one in zip(pooled, theirs, strict=True)
        ),
    )


def _embeddings(case: Case) -> float:
    """Every layer from embeddings of words, and the Jacobian's largest singular value."""
    theirs = case.alone.states(case.ids)
    encoded = case.probe.read(TEXT)
    kept = encoded.embeds.clone()
    from_embeddings = [
        apart(case.probe.layers.layer(number, encoded.embeds[None])[0], one)
        for number, one in enumerate(theirs)
    ]
    if not torch.equal(kept, encoded.embeds):
        return float("inf")
    found = ws.words(TEXT, case.probe, tiers="local", word=PLACE, scaling="frobenius").words[0]
    row = encoded.words[PLACE].rows[0]
    table = case.alone.model.get_input_embeddings().weight.detach()
    largest = torch.linalg.matrix_norm(case.alone.jacobian(case.ids, row), 2)
    truth = largest * table[case.ids[row]].norm() / theirs[-1].norm()
    return max(*from_embeddings, abs(found.local - truth) / truth * CLOSE / JACOBIAN)


def _swap(case: Case) -> float:
    """The change that each of some words causes, in the last layer and in the embedding."""
    before = case.alone.states(case.ids)[-1]
    worst = 0.0
    for target in ("layer", "pooled"):
        found = ws.swap(
            TEXT,
            PLACE,
            case.probe,
            among=OTHERS,
            target=target,
            scaling="frobenius",
            worst_case=False,
        )
        for one in found.swaps:
            after = case.alone.states(case.changed(one.word))[-1]
            base, moved = (before, after) if target == "layer" else (before.mean(0), after.mean(0))
            truth = (moved - base).double().norm() / base.double().norm()
            worst = max(worst, abs(one.change - truth) / (truth + CLOSE))
    return worst


def _attention(case: Case) -> float:
    """Every layer's attention under the model's own number."""
    theirs = case.alone.attentions(case.ids)
    worst = 0.0
    for layer in range(1, case.probe.layers.count + 1):
        if theirs and layer not in theirs:
            try:
                ws.attention(TEXT, model=case.probe, layer=layer)
            except WordswayError:
                continue
            return float("inf")
        ours = ws.attention(TEXT, model=case.probe, layer=layer, special=True)
        if ours.layers != case.probe.layers.count or ours.layer != layer:
            return float("inf")
        worst = max(worst, apart(torch.tensor(ours.texts[0].matrix), theirs[layer].mean(0)))
    return worst


def _next_token(case: Case) -> float | None:
    """The next token's probabilities, and how far some words move them."""
    if not case.alone.causal:
        return None
    causal = Causal(locate(case.folder), Loading("causal"))
    prompt = causal.read(TEXT)
    theirs = case.alone.next_token(torch.tensor(prompt.ids))
    worst = apart(causal.states(prompt)[1].exp(), theirs.exp())
    base = (case.alone.next_token(case.ids) / 2).exp()
    for one in ws.swap(
        TEXT, PLACE, case.probe, among=OTHERS, target="next-token", worst_case=False
    ).swaps:
        truth = float(((case.alone.next_token(case.changed(one.word)) / 2).exp() - base).norm())
        worst = max(worst, abs(one.change - truth) / (truth + CLOSE))
    return worst


def _verbs(case: Case) -> float:
    """Every verb that takes a model ends in a result or in one line."""
    verbs: tuple[Callable[[], object], ...] = (
        lambda: ws.words(TEXT, case.probe, word=PLACE, draws=4, passes=4),
        lambda: ws.words(TEXT, case.probe, target="all", tiers="mean-local", passes=4),
        lambda: ws.swap(TEXT, PLACE, case.probe, among=OTHERS),
        lambda: ws.attract(TEXT, PLACE, case.probe),
        lambda: ws.pairs([(TEXT, TEXT.replace("good", "bad"))], models=case.probe),
    )
    for verb in verbs:
        with suppress(WordswayError):
            verb()
    return 0.0


CHECKS: dict[str, Callable[[Case], float | None]] = dict(
    zip(CHECK_NAMES, (_states, _embeddings, _swap, _attention, _next_token, _verbs), strict=True)
)


@dataclass(frozen=True)
class Verdict:
    """One check of one architecture: "agrees", "refused", "differs", "raw", or "absent" where there
    is nothing to compare; how far apart the numbers are; why it was refused, or what was raised.
    """

    outcome: str
    apart: float = 0.0
    why: str = ""

    def is_fault(self, reason: str | None) -> bool:
        """Whether it is neither agreement nor the refusal that was expected."""
        if reason is not None:
            return self.outcome != "refused" or reason not in self.why
        return self.outcome not in ("agrees", "absent")


def judge(
    architecture: Architecture, folder: Path, checks: Iterable[str] = tuple(CHECKS)
) -> dict[str, Verdict]:
    """Checks of one architecture, saved in ``folder``."""
    save(architecture, folder)
    try:
        probe = ws.Probe(folder)
    except WordswayError as error:
        return dict.fromkeys(checks, Verdict("refused", why=str(error)))
    case = Case(folder, probe, Alone(folder))
    return {name: _verdict(CHECKS[name], case) for name in checks}


def faults(architecture: Architecture, verdicts: dict[str, Verdict]) -> list[str]:
    """The checks that neither agree nor are refused for the expected reason."""
    return [
        f"{architecture.name}, {name}: {one.outcome} {one.why} ({one.apart:.1e})"
        for name, one in verdicts.items()
        if one.is_fault(architecture.refused.get(name))
    ]


def _verdict(check: Callable[[Case], float | None], case: Case) -> Verdict:
    try:
        found = check(case)
    except WordswayError as error:
        return Verdict("refused", why=str(error))
    except Exception as error:  # what no user should see
        return Verdict("raw", why=f"{type(error).__name__}: {first_line(error)}")
    if found is None:
        return Verdict("absent")
    return Verdict("agrees" if found <= CLOSE else "differs", float(found))


#: What the documentation says above the tables.
ABOUT = (
    "`python -m benchmarks architectures` builds tiny models with random weights from the "
    "configurations of transformers and compares wordsway with transformers alone on one text: "
    "*states* of every layer and their means; states from *embeddings*, and `local` against the "
    "Jacobian by differences; the changes that `swap` reports; *attention* under the model's own "
    "layer numbers; the *next-token* probabilities and how words move them. *verbs*: `words`, "
    "`swap`, `attract` and `pairs` end in a result or in one line. Differences above 1e-4 (of "
    "`local`: 2 %) and errors of other libraries are faults; the command fails if there is one."
)


def page(names: Collection[str] = ()) -> tuple[str, list[str]]:
    """The tables of the documentation, and all faults."""
    from importlib.metadata import version

    chosen = [one for one in ARCHITECTURES if not names or one.name in names]
    found: dict[str, dict[str, Verdict]] = {}
    wrong: list[str] = []
    for architecture in chosen:
        with tempfile.TemporaryDirectory() as folder:
            found[architecture.name] = judge(architecture, Path(folder))
        wrong += faults(architecture, found[architecture.name])
        outcomes = [one.outcome for one in found[architecture.name].values()]
        print(architecture.name, *outcomes, file=sys.stderr, flush=True)
    lines = [
        "| check | agrees | refused | not applicable | largest difference |",
        "|---|---|---|---|---|",
    ]
    for name in CHECKS:
        verdicts_of = [verdicts[name] for verdicts in found.values()]
        agreed, refused, absent = (
            sum(one.outcome == outcome for one in verdicts_of)
            for outcome in ("agrees", "refused", "absent")
        )
        largest = max((one.apart for one in verdicts_of if one.outcome == "agrees"), default=0.0)
        lines.append(f"| {name} | {agreed} | {refused} | {absent} | {largest:.0e} |")
    lines += ["", "| reason, in the words of the error | refused |", "|---|---|"]
    reasons: dict[str, dict[str, list[str]]] = {}
    for architecture in chosen:
        for reason in dict.fromkeys(architecture.refused.values()):
            checks = [check for check, why in architecture.refused.items() if why == reason]
            by_checks = reasons.setdefault(reason, {})
            by_checks.setdefault(", ".join(checks), []).append(architecture.name)
    for reason, by_checks in reasons.items():
        listed = "; ".join(f"{checked}: {', '.join(some)}" for checked, some in by_checks.items())
        lines.append(f"| {reason} | {listed} |")
    whole = [one for one in chosen if not one.refused]
    agreeing = ", ".join(one.name for one in whole)
    lines += [
        "",
        f"{len(chosen)} architectures; these {len(whole)} agree in all that applies to them: "
        f"{agreeing}. (transformers {version('transformers')}, torch {version('torch')})",
    ]
    return "\n".join(lines), wrong
