"""Every number of audits and pairs in one plain sentence; all media say the same."""

from __future__ import annotations

#: What the score of an audit does not answer; shown wherever the score is.
REWORDING = (
    "Whether it also reacts more than to a rewording with the same meaning is another question."
)
#: By the name of the field.
EXPLAINED = {
    "auc": "Reacts more than to a harmless edit: take an edit that turns the meaning of a text and "
    "a small one that keeps it; the share of such comparisons in which the turning edit moves the "
    "model more (1: always; 0.5: it cannot tell them apart). " + REWORDING,
    "low": "Where the 95 % interval of auc begins: other texts of this sort may give this little.",
    "high": "Where the 95 % interval of auc ends.",
    "mean_auc": "The mean of auc over the kinds; the table is ordered by it.",
    "texts": "How many texts had an edit of this kind.",
    "median_turning": "How far the middle turning edit moves the model (0: not at all).",
    "median_keeping": "How far the middle keeping edit of the same texts moves it: what a change "
    "without a meaning does.",
    "blind": "The share of turning edits that move the model less than the middle keeping edit: "
    "words that it overlooks.",
    "percentile": "Put a random real word in the place of the edit: in so many of 100 cases the "
    "turning edit moves the model more than that.",
    "percentile_low": "Where the 95 % interval of percentile begins.",
    "percentile_high": "Where the 95 % interval of percentile ends.",
    "percentile_keeping": "The same as percentile, for the keeping edits of these texts.",
    "layers": "The same auc for every layer, from 0, the input, to the last.",
    "heard": "The first layer that tells turning from keeping edits (its interval lies above 0.5).",
    "lost": "The layer from which on none tells them apart any more; empty if the last one does.",
    "local": "Move each word of a text a little: the share of the other words to which the layer "
    "responds less than to the edited one (0.5: a word like any other).",
    "stays": "Of the ten documents that a text finds first, the share that its edited twin finds "
    "among its first ten, too (100 %: the search does not notice the edit).",
    "first_stays": "How often the document that comes first for a text comes first for its edited "
    "twin, too.",
    "cosine": "Of the pooled embeddings of both texts: 1 means that the model holds them for the "
    "same.",
    "change": "How far the embedding moves, relative to its own length.",
    "parts": "The layer in which that change grows most.",
    "first_rank": "The middle place of that document in the ranking for the edited twin.",
}
