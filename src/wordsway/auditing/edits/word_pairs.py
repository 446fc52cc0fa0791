"""What reading thousands of replaced words taught: pairs that are sure, words to leave alone.

Every pair here is one of WordNet's own (a test looks them up); the lists only choose among them.
"""

from __future__ import annotations

from collections.abc import Set

from wordsway.auditing.edits.lexicon import words


def _pairs(table: str) -> dict[str, str]:
    """Rows "one other", separated by bars, in both directions."""
    rows = [row.split() for row in table.replace("\n", "|").split("|") if row.strip()]
    both = [*rows, *(row[::-1] for row in rows)]
    return {row[0]: row[1] for row in both}


#: Words whose part of speech is not sure from the counts alone, and which still read well.
SURE_OPPOSITES = _pairs("""
interesting uninteresting|beautiful ugly|loved hated|loves hates
realistic unrealistic|predictable unpredictable|convincing unconvincing|talented untalented
honest dishonest|popular unpopular|effective ineffective|impressive unimpressive
intelligent unintelligent|important unimportant|exciting unexciting|accurate inaccurate
sympathetic unsympathetic|attractive unattractive|appropriate inappropriate|dangerous safe
correct incorrect|logical illogical|reasonable unreasonable
lucky unlucky|willing unwilling|married unmarried|friendly unfriendly|legal illegal
acceptable unacceptable|significant insignificant|faithful unfaithful|male female
deep shallow|wrong right|likely unlikely|closed open|benign malignant|acute chronic
valid invalid|lawful unlawful|admissible inadmissible|fair unfair
""") | {"big": "small", "begins": "ends", "disliked": "liked", "dislikes": "likes"}
for _word in ("right", "open"):  # too many other senses, in this direction
    SURE_OPPOSITES.pop(_word)

#: Bases whose antonym reads badly, in another sense than the one that is usual in texts.
REFUSED = words(
    "know little unusual alive dead sad western walk let loud sit lose continue admit greater "
    "lesser nuclear "
    "definite specific specifically ability stranger attract goodness usual night arrive forget "
    "refuse borrow pull push presence sudden personal winning joy continuity "
    "sadly pleasure local include king empty fat outer secondary parent artificial narrow mental"
)

#: Bases whose synonym was read and found to say the same.
ACCEPTED = words(
    "terrible completely totally entirely especially particularly child kid happen obviously "
    "mostly exactly basically essentially apparently seemingly writer author quickly rapidly "
    "large honestly frankly lately immediately instantly mainly opportunity slightly doctor "
    "rarely seldom fate amazed astonished deeply nevertheless nonetheless tremendous enormous "
    "achieve owner choose largely furthermore occur attempt car precisely evident apparent "
    "assume tune lawyer relatively solely vacation achievement accomplishment construct dreadful "
    "sinister ominous basement react illness awfully beg disappear invent partly purchase wander "
    "couch snake likewise similarly considerably hardly barely fairly reasonably era merely "
    "joke physician attorney"
)
SURE_SYNONYMS = {
    "film": "movie",
    "films": "movies",
    "movie": "film",
    "movies": "films",
    "begins": "starts",
    "began": "started",
    "almost": "nearly",
    "nearly": "almost",
    "perhaps": "maybe",
    "maybe": "perhaps",
    "often": "frequently",
    "really": "truly",
    "awful": "terrible",
    "buy": "purchase",
    "attempts": "tries",
}
#: Of these there would be too many in texts about films.
COMMON = {"film", "films", "movie", "movies"}

#: Words in whose company a word means something else: before it, behind it, anywhere.
NOT_AFTER: dict[str, Set[str]] = {
    "good": {"for", "no", "as", "any", "much"},
    "bad": {"too", "so", "that", "as", "than"},
    "possible": {"as", "best", "if", "it"},
    "true": {"come", "comes", "came", "coming", "rings", "ring", "so"},
    "wrong": {"go", "goes", "went", "going", "gone", "me", "something"},
    "likely": words("most more very will would could can may might"),
    "quickly": {"too", "over", "so", "as"},
    "slowly": {"too", "so", "as"},
    "likes": {"the", "of", "and"},
    "high": {"junior", "or", "get", "gets", "getting"},
    "married": {"get", "gets", "got", "getting", "was", "were"},
    "new": {"brand", "something", "anything", "nothing", "a", "like", "whole"},
    "young": {"the", "two", "three"},
    "easy": {"it", "take", "an"},
    "really": {"n't", "not", "don't", "didn't", "doesn't", "isn't", "wasn't", "can't", "couldn't"},
    "film": {"short", "feature", "on"},
    "often": {"how", "too", "so", "more", "very", "as"},
    "fair": {"to", "the"},
    "deep": {"so"},
    "large": {"at", "by", "and"},
    "open": {"to"},
    "honest": {"be", "being"},
    "big": {"too"},
    "happen": {"i", "you"},
    "kid": {"i", "to"},
    "kids": {"i"},
    "car": {"cable"},
    "almost": {"in"},
    "old": {"the"},
    "lucky": {"get", "got"},
    "female": {"male"},
}
NOT_BEFORE: dict[str, Set[str]] = {
    "good": words(
        "deal while thing old luck looking at enough job will riddance for to ol share cheer and "
        "number bit amount measure faith sense idea"
    ),
    "intelligence": words("agent agents agency agencies officer officers service services"),
    "bad": {"for", "enough", "news", "ass", "at"},
    "high": {"school", "schools", "on", "time", "as", "speed"},
    "true": {"to", "that", "fans", "fan", "love", "enough"},
    "guilty": {"pleasure", "pleasures", "of"},
    "easy": {"on", "going", "to"},
    "manages": {"a", "the", "it"},
    "managed": {"a", "the", "it", "by"},
    "man": {"who", "and", "made", "named", "-"},
    "men": {"and"},
    "women": {"and"},
    "woman": {"and"},
    "boy": {"and", "band", "scouts"},
    "boys": {"and"},
    "happen": {"to"},
    "happens": {"to"},
    "happened": {"to"},
    "happening": {"to"},
    "film": words("noir maker makers festival making buff buffs adaptation industry critics stock"),
    "car": words("alarm alarms chase chases crash wash"),
    "films": {"noir"},
    "movie": words("theater theatre theaters star stars buff buffs goer goers making house"),
    "really": words("is was are were do did does have has had bad that the"),
    "begins": {"and", "to"},
    "loved": {"one", "ones"},
    "agree": {"to", "on", "upon"},
    "agreed": {"to", "on", "upon"},
    "agrees": {"to", "on", "upon"},
    "sell": {"out", "it"},
    "buy": {"into", "it", "this", "that", "the"},
    "big": words("fan fans deal screen time budget name names brother city as"),
    "strong": {"enough"},
    "likely": {"to"},
    "new": {"to", "york", "wave", "age", "zealand", "year", "year's", "years"},
    "young": words("at kid kids child children boy boys girl girls adult adults"),
    "old": words("friend friends boy girl kid school fashioned hat"),
    "attempts": {"at", "of", "in", "by", "and", "made", "are", "were"},
    "attempt": {"at", "of", "in", "by", "and", "made", "is", "was", "to"},
    "kid": {"me", "you", "around", "yourself"},
    "joke": {"about", "around"},
    "fair": {"share", "amount", "bit", "enough", "game", "lady"},
    "deep": {"down", "into", "in", "within", "enough"},
    "almost": {"as", "every", "any", "all", "no", "nothing", "never"},
    "nearly": {"as", "enough"},
    "popular": {"culture"},
    "small": {"feat", "wonder", "town", "talk", "part", "parts", "role", "screen"},
    "male": {"lead"},
    "negative": {"reviews", "review"},
    "wrong": {"way"},
    "right": {"to"},
    "choose": {"to", "not"},
    "chose": {"to", "not", "from"},
    "chooses": {"to", "not"},
    "assume": {"the"},
}
#: Words that are what they seem only with one of these behind them.
ONLY_BEFORE: dict[str, Set[str]] = {"able": {"to"}, "unable": {"to"}}
_HE, _SHE = words("he his him himself"), words("she her hers herself")
IDIOMS: dict[str, Set[str]] = {
    "possible": {"as", "than", "every"},
    "easy": {"eyes"},
    **dict.fromkeys(("man", "boy", "husband", "son", "father", "brother"), _HE | _SHE),
    **dict.fromkeys(("woman", "girl", "wife", "daughter", "mother", "sister"), _HE | _SHE),
    "male": {"female"},
    "rarely": {"not"},
    **dict.fromkeys(("able", "unable"), words("not no never without nobody nothing")),
    "hardly": {"any", "ever", "believe"},
}
