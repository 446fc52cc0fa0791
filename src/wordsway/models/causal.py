"""A causal language model on prompts: its tokens, its hidden states, its next token, its greedy
answer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.models.files import ModelFiles
from wordsway.models.layers import check_rows, positions_of
from wordsway.models.load import Loading, import_transformers, load, quiet
from wordsway.models.memory import ModelInMemory
from wordsway.models.tokens import tokenize_in_time


@dataclass(frozen=True)
class Prompt:
    """A prompt: ``spelled`` is the text in its chat template, ``pieces`` its tokens."""

    text: str
    spelled: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]


class Causal:
    """A decoder with the head that it was saved with (`heads.predicts_next`); ``chat`` puts prompts
    in its chat template, if it has one.

    Layer 0 is the input layer, layer L comes after the last normalisation: transformers' own
    ``hidden_states``. Prompts run one by one, without padding. Decoding takes the likeliest token
    each time, without penalties, so that an answer is the same on every run.
    """

    def __init__(
        self, files: ModelFiles | ModelInMemory, options: Loading, *, chat: bool = True
    ) -> None:
        self.files = files
        self.options = options
        self.tokenizer: Any = _tokenizer(files, options)
        self.chat = chat and getattr(self.tokenizer, "chat_template", None) is not None
        self.model: Any = load(files, options)
        self.device = next(self.model.parameters()).device
        self.ends = _ends(self.model, self.tokenizer)
        self._keep = (
            {"logits_to_keep": 1}
            if "logits_to_keep" in inspect.signature(self.model.forward).parameters
            else {}
        )
        self._look_back()

    @property
    def limit(self) -> int | None:
        """Tokens that the model has positions for."""
        return positions_of(self.model.config)

    def read(self, text: str) -> Prompt:
        """The prompt's tokens: by the chat template, or the tokenizer's own without one."""
        spelled = self._in_template(text) if self.chat else text
        ids = tokenize_in_time(
            lambda: tuple(self.tokenizer(spelled, add_special_tokens=not self.chat)["input_ids"]),
            characters=len(spelled),
            name=self.files.name,
        )
        if not ids:
            raise InputError(
                "a prompt that the model reads something of",
                "one without any tokens",
                "write a word of the model's language",
            )
        return Prompt(text, spelled, ids, tuple(self.tokenizer.convert_ids_to_tokens(ids)))

    def _in_template(self, text: str) -> str:
        try:
            turn = [{"role": "user", "content": text}]
            return str(
                self.tokenizer.apply_chat_template(turn, add_generation_prompt=True, tokenize=False)
            )
        except Exception as error:  # templates are programs, and may raise anything
            raise WordswayError(
                f"the chat template of {self.files.name} fails ({first_line(error)}): "
                "try --no-chat (chat=False)"
            ) from None

    @torch.no_grad()
    def states(self, prompt: Prompt) -> tuple[list[torch.Tensor], torch.Tensor]:
        """hidden_states[0 … L], (n, d) each, and log probabilities of the next token in float64.

        Both prompts of a comparison run in full, even if they share a prefix: rows from cached keys
        are rounded differently, and 1e-7 of a state is a hundredth of a change of 1e-5.
        """
        ids = torch.tensor([prompt.ids], device=self.device)
        out = self.model(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            output_hidden_states=True,
            use_cache=False,
            **self._keep,
        )
        logits = out.logits[0, -1].double().cpu()
        if not logits.isfinite().all():
            raise WordswayError(
                f"{self.files.name} gives numbers that are not finite in {self.options.dtype}: "
                "take float32 (--dtype float32)"
            )
        for number, state in enumerate(out.hidden_states):
            check_rows(number, state, ids.shape[1])
        hidden = [state[0].cpu() for state in out.hidden_states]
        return hidden, torch.log_softmax(logits, dim=0)

    @torch.no_grad()
    def answer(
        self,
        prompt: Prompt,
        tokens: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[str, int, bool]:
        """The likeliest token after token, until the model ends or ``tokens`` are there: the text,
        its tokens, and whether it was cut.
        """
        transformers = import_transformers()
        ids = torch.tensor([prompt.ids], device=self.device)
        ends = sorted(self.ends)
        plain = transformers.GenerationConfig(
            do_sample=False,
            num_beams=1,
            max_new_tokens=tokens,
            eos_token_id=ends or None,
            pad_token_id=ends[0] if ends else 0,
        )
        own = self.model.generation_config  # may hold penalties and temperatures
        self.model.generation_config = plain
        try:
            with quiet():
                out = self.model.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    generation_config=plain,
                    streamer=_Counter(tokens, progress) if progress else None,
                )
        finally:
            self.model.generation_config = own
        new = out[0, len(prompt.ids) :].tolist()
        ended = bool(new) and new[-1] in self.ends
        return self.tokenizer.decode(new, skip_special_tokens=True), len(new), not ended

    def spell(self, token: int) -> str:
        """A token as text; a byte of a longer character is �."""
        return str(self.tokenizer.decode([token]))

    @torch.no_grad()
    def _look_back(self) -> None:
        """Refuse a model whose first row sees the second: an encoder with a language head."""
        first = [
            self.model(input_ids=torch.tensor([pair], device=self.device), use_cache=False).logits[
                0, 0
            ]
            for pair in ((1, 2), (1, 3))
        ]
        if (first[0] - first[1]).abs().max() > 1e-3 * first[0].abs().max():
            raise InputError(
                "a causal language model with its head (…ForCausalLM)",
                f"{self.files.name} (one whose rows attend to later tokens)",
                "take smollm2; for encoders see wordsway words",
            )


class _Counter:
    """Counts tokens as `generate` streams them; the prompt comes first."""

    def __init__(self, total: int, progress: Callable[[int, int], None]) -> None:
        self.done, self.total, self.progress = -1, total, progress

    def put(self, value: object) -> None:
        self.done += 1
        self.progress(self.done, self.total)

    def end(self) -> None:
        """Nothing is left to do."""


def _tokenizer(files: ModelFiles | ModelInMemory, options: Loading) -> Any:
    if isinstance(files, ModelInMemory):
        return files.tokenizer
    try:
        with quiet():
            return import_transformers().AutoTokenizer.from_pretrained(
                files.verified(), local_files_only=True, trust_remote_code=options.remote_code
            )
    except Exception as error:  # as many kinds as tokenizers
        raise WordswayError(
            f"the tokenizer of {files.name} could not be loaded ({first_line(error)}): "
            "save it beside the model"
        ) from None


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    """The tokens that end an answer, for the model or for its tokenizer."""
    named = [
        getattr(holder, "eos_token_id", None)
        for holder in (model.generation_config, model.config, tokenizer)
    ]
    return frozenset(
        int(token)
        for tokens in named
        for token in (tokens if isinstance(tokens, list | tuple) else [tokens])
        if token is not None
    )
