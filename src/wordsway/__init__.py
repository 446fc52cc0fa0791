"""wordsway: how far can one word sway a layer?

Two halves, one question. *Random maps*, where the answer is an interval with a certificate:

>>> import wordsway as ws
>>> X = ws.Sample.gaussian(n=12, d=16, seed=0)
>>> s = ws.sensitivity(ws.RAF(d=16, seed=1), X, positions=[0, 5], seed=2)
>>> s.lower <= s.upper, s.certificate
(True, 'float64')

*Real models*, where each number is determined or comes with its error::

    ws.words("I love her much").show()                  # how far each word moves MiniLM
    ws.swap("I love her much", "much").show()           # which real word would do it
    ws.audit(["minilm", "mpnet"], quick=True).show()    # does it react to the word that matters?

| to | random maps | real models |
|---|---|---|
| measure | `sensitivity`, `measure`, `learn` | `words`, `swap`, `attention`, `attract` |
| compare | `sweep`, `reproduce`, `forecast` | `compare`, `pairs`, `audit`, `length` |

Every verb returns a result: `show()`, `frame()`, `to_json()`, `save("x.html")`, and it is a
sequence of its words, trials or rows.

Names are imported when they are first used (``__init__.pyi`` lists them), so that commands without
computation (``wordsway data``, ``--help``) start at once.
"""

from importlib import import_module

import lazy_loader

from wordsway.core.errors import renamed_names
from wordsway.core.result import use_renderer

_lazy, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = renamed_names(
    _lazy, __name__, Learned="FlipRow", Learning="FlipResult", Lessons="FlipTrials"
)

use_renderer(lambda: import_module("wordsway.render.files"))
