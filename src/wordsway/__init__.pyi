"""The public names of wordsway and the modules that define them: for type checkers, and for
`lazy_loader`, which imports a module when one of its names is first used.
"""

from . import constraints as constraints
from .auditing.audit import audit as audit
from .auditing.pairs import pairs as pairs
from .auditing.pairs import (
    Pair as Pair,
    Pairs as Pairs,
)
from .auditing.result import (
    Audit as Audit,
    ModelAudit as ModelAudit,
)
from .core.chart import Chart as Chart
from .core.laws import (
    laws as laws,
    slope as slope,
)
from .data.fetch import Catalogue as Catalogue
from .core.errors import (
    InputError as InputError,
    MemoryBudgetError as MemoryBudgetError,
    MissingExtraError as MissingExtraError,
    WordswayError as WordswayError,
)
from .engine.forecast import SweepForecast as SweepForecast
from .studies.corpus_texts import paper_samples as paper_samples
from .probing.corpus import CorpusWords as CorpusWords
from .studies.forecast import (
    Forecast as Forecast,
    forecast as forecast,
)
from .studies.flips import (
    FlipTrials as FlipTrials,
    learning_trials as learning_trials,
)
from .studies.measure import (
    Measurement as Measurement,
    Trial as Trial,
    measure as measure,
)
from .studies.request import (
    LearningOptions as LearningOptions,
    Request as Request,
)
from .studies.spec import Study as Study
from .studies.sweep import (
    Sweep as Sweep,
    sweep as sweep,
)
from .studies.texts import TextOptions as TextOptions
from .gaussian import (
    GaussianMatrix as GaussianMatrix,
    TokenMatrix as TokenMatrix,
)
from .learning.learn import learn as learn
from .lengths.length import length as length
from .lengths.result import (
    Length as Length,
    ModelLength as ModelLength,
)
from .learning.results import (
    FlipResult as FlipResult,
    FlipRow as FlipRow,
)
from .maps import (
    DRF as DRF,
    RAF as RAF,
    RF as RF,
    FeatureMap as FeatureMap,
    ReluRAF as ReluRAF,
    View as View,
    boolean_sensitivity as boolean_sensitivity,
    layer_norm as layer_norm,
    read_out as read_out,
    residual as residual,
    rms_norm as rms_norm,
    transformer_block as transformer_block,
)
from .maps.proof import (
    Proof as Proof,
    Verification as Verification,
    verify as verify,
)
from .maps.activation import (
    Activation as Activation,
    activation as activation,
)
from .models import Embedder as Embedder
from .models.endpoint import Endpoint as Endpoint
from .models.probe import Probe as Probe
from .optimize.plan import Plan as Plan
from .page.playground.build import (
    Playground as Playground,
    playground as playground,
)
from .paper.reproduce import (
    Reproduction as Reproduction,
    reproduce as reproduce,
)
from .probing.attention import (
    AttentionMap as AttentionMap,
    AttentionMaps as AttentionMaps,
    attention as attention,
)
from .probing.attract import (
    Attracted as Attracted,
    attract as attract,
)
from .probing.compare import (
    Comparison as Comparison,
    compare as compare,
)
from .probing.compare import LayerChange as LayerChange
from .probing.results import (
    Swap as Swap,
    Swaps as Swaps,
    Words as Words,
    WordSway as WordSway,
)
from .probing.swap import swap as swap
from .probing.trained_attention import (
    Attention as Attention,
    TrainedAttention as TrainedAttention,
)
from .probing.words import words as words
from .core.reading import (
    Reading as Reading,
    Token as Token,
    Word as Word,
)
from .render.widget import clickable as clickable
from .core.result import Result as Result
from .core.sample import Sample as Sample
from .intervals import (
    Sensitivity as Sensitivity,
    WordSensitivity as WordSensitivity,
    sensitivity as sensitivity,
)
from .text import (
    Corpus as Corpus,
    Text as Text,
    corpus as corpus,
    draw as draw,
)
from .version import __version__ as __version__

__all__: list[str]
