"""Every task by name, in the lane that does it."""

from __future__ import annotations

from wordsway.page.attending import attention_steps
from wordsway.page.auditing import audit_steps, audits_steps, start_steps
from wordsway.page.files import audit_file_steps, model_file_steps, theory_file_steps
from wordsway.page.theory import maps_steps, theory_steps
from wordsway.page.words import word_steps, words_steps
from wordsway.page.worker import Tasks

#: Pretrained models, one text at a time.
MODELS: Tasks = {
    "words": words_steps,
    "word": word_steps,
    "attention": attention_steps,
    "file": model_file_steps,
}
#: Random maps, and what audits wrote.
CELLS: Tasks = {
    "maps": maps_steps,
    "theory": theory_steps,
    "theory-file": theory_file_steps,
    "audits": audits_steps,
    "audit": audit_steps,
    "audit-file": audit_file_steps,
}
#: Audits that are being made: one after the other.
AUDITS: Tasks = {"start": start_steps}
