"""What each kind of edit does, and what it leaves alone."""

from __future__ import annotations

import pytest

from wordsway.auditing.cases import readable, sentences
from wordsway.auditing.edits import KEEPING, RULES, SMALL, TURNING
from wordsway.auditing.edits.edit import Edit, EnglishSentence, Rule
from wordsway.auditing.edits.meaning import SURE_OPPOSITES, SURE_SYNONYMS
from wordsway.auditing.gold import gold_triples
from wordsway.text.forms import singular, verb_forms
from wordsway.text.wordnet import PARTS, wordnet

EXPECTED = [
    ("negation", "The film is good.", ["The film is not good."]),
    ("negation", "It's a good film.", ["It's not a good film."]),
    ("negation", "I liked the film.", ["I did not like the film."]),
    ("negation", "You can see it.", ["You cannot see it."]),
    ("negation", "He has seen the film.", ["He has not seen the film."]),
    ("negation", "The film was not good.", ["The film was good."]),
    ("negation", "She didn't like the film.", ["She liked the film."]),
    ("negation", "He doesn't know the city.", ["He knows the city."]),
    ("negation", "We won't go there.", ["We will go there."]),
    ("negation", "Don't open the door.", ["Open the door."]),
    ("negation", "It isn't any good.", []),
    ("negation", "It may or may not work.", []),
    ("negation", "If it is good, I never buy it.", []),
    ("antonyms", "It was an interesting film.", ["It was an uninteresting film."]),
    ("antonyms", "It was a beautiful day.", ["It was an ugly day."]),
    ("antonyms", "She manages to win.", ["She fails to win.", "She manages to lose."]),
    ("antonyms", "It is as soon as possible.", []),
    ("antonyms", "He went to high school.", []),
    ("antonyms", "Good Will Hunting was on.", []),
    ("antonyms", "She begins to see it.", []),
    ("antonyms", "We are able to see it.", ["We are unable to see it."]),
    ("antonyms", "Its able performances shine.", []),
    ("antonyms", "He buried his loved ones.", []),
    ("antonyms", "My car was repaired.", []),
    ("antonyms", "It was a whole new film.", []),
    ("antonyms", "My daughter and her friends saw it.", []),
    ("antonyms", "We are to buy the premise.", []),
    ("negation", "The film is made so well that I cried.", []),
    ("numbers", "Take 5 mg of it.", ["Take 50 mg of it."]),
    ("numbers", "It was made in 1985.", ["It was made in 1945."]),
    ("numbers", "He has two sons.", ["He has seven sons."]),
    ("numbers", "I give it a 9 out of 10.", ["I give it a 2 out of 10."]),
    ("numbers", "It costs 2.5 or 3 dollars.", []),
    ("numbers", "One or two of them.", []),
    ("units", "Take 5 mg of it.", ["Take 5 g of it."]),
    ("units", "It lasts 90 minutes.", ["It lasts 90 hours."]),
    ("units", "In minutes it was over.", []),
    ("units", "An 8 minute short is enough.", []),
    ("units", "It lasts an hour and fifty minutes.", []),
    ("units", "Those are my two cents.", []),
    ("quantifiers", "All of the actors are good.", ["None of the actors are good."]),
    ("quantifiers", "It is always late.", ["It is never late."]),
    ("quantifiers", "Everyone has signed it.", ["Nobody has signed it."]),
    ("quantifiers", "Most of the time it works.", []),
    ("quantifiers", "It is not always late.", []),
    ("quantifiers", "He has never met her.", []),
    ("quantifiers", "All of his friends all think so.", []),
    ("quantifiers", "Nothing dull about this film.", []),
    ("quantifiers", "Nothing is hard here.", ["Everything is hard here."]),
    ("names", "We went to Paris by car.", ["We went to Vienna by car."]),
    ("names", "Tom's dog barks.", ["Charles's dog barks."]),
    ("names", "Paris Hilton was there.", []),
    ("modals", "You must leave now.", ["You might leave now."]),
    ("modals", "The doctor will come.", ["The doctor might come."]),
    ("modals", "He left a will.", []),
    ("modals", "It's a must see.", []),
    ("modals", "It is better than you might expect.", []),
    ("modals", "It is cute, I must say.", []),
    ("modals", "You will definitely like it.", []),
    ("comparatives", "It is better than that.", ["It is worse than that."]),
    ("comparatives", "The most beautiful film of all.", ["The least beautiful film of all."]),
    ("comparatives", "I had better go.", []),
    ("comparatives", "They make the best of it.", []),
    ("comparatives", "He wants more money.", []),
    ("synonyms", "The film is good.", ["The movie is good."]),
    ("synonyms", "It was a film noir.", []),
    ("synonyms", "The car alarms are loud.", []),
    ("synonyms", "She chooses not to go.", []),
    ("synonyms", "Perhaps the film was entirely bad.", None),
    ("spelling", "My favourite colour is red.", None),
    ("spelling", "It is worth a while.", []),
    ("contractions", "I do not know it.", ["I don't know it."]),
    ("contractions", "He can't come.", ["He cannot come."]),
    ("contractions", "It's a pity.", ["It is a pity."]),
    ("contractions", "It is good to know how good it is.", ["It's good to know how good it is."]),
    ("contractions", "It's been a pity.", ["It has been a pity."]),
    ("contractions", "It's finished.", []),
    ("contractions", "The dog's bone.", []),
    ("contractions", "It costs as much as it is worth.", []),
    ("contractions", "It is known for it's length.", ["It's known for it's length."]),
    ("articles", "I saw this film in May.", ["I saw the film in May."]),
    ("articles", "I think that it is fine.", ["I think it is fine."]),
    ("articles", "First of all the film is long.", []),
    ("politeness", "Avoid this film at any price.", ["Please avoid this film at any price."]),
    ("politeness", "Please call the office.", ["Call the office."]),
    ("clause order", "If the rain stops, we go home.", ["We go home if the rain stops."]),
    ("clause order", "You must call if the alarm rings.", ["If the alarm rings, you must call."]),
    ("clause order", "Because I was late, Tom drove.", ["Tom drove because I was late."]),
    ("clause order", "If it rains, we stay at home.", []),
    ("clause order", "If Anna calls, she wants money.", []),
    ("clause order", "I wonder if it works, and you know.", []),
    ("clause order", "It looks as if I lost.", []),
    ("negated opposite", "That is possible.", ["That is not impossible."]),
    ("negated opposite", "The plan is not legal.", ["The plan is illegal."]),
    ("negated opposite", "It is a possible plan.", []),
    ("negated opposite", "It isn't possible.", []),
    ("digits", "He waited ten minutes.", ["He waited 10 minutes."]),
    ("digits", "Bring 3 chairs.", ["Bring three chairs."]),
    ("digits", "It was made in 1985.", []),
    ("digits", "See chapter 3 first.", []),
    ("digits", "Two men came.", []),
    ("digits", "It has 10 % more.", []),
    ("frame", "The shop is open.", ["It is true that the shop is open."]),
    ("frame", "I was late.", ["It is true that I was late."]),
    ("frame", "Open the door.", []),
    ("frame", "The end.", []),
    ("negation", "It's tone is dark.", []),
    ("negation", "My Name is Modesty was on.", []),
    ("negation", "I will admit that it is good.", []),
    ("negation", "If it wasn't for the music, I would sleep.", []),
    ("antonyms", "They were young kids.", []),
    ("antonyms", "It is a mental game.", []),
    ("numbers", "It is a poor man's 300.", []),
    ("numbers", "It is good 4 the price.", []),
    ("numbers", "It is set in the year 2200.", []),
    ("units", "It cost several millions of dollars.", ["It cost several thousands of dollars."]),
    ("units", "It cost 45 million dollars.", ["It cost 45 thousand dollars."]),
    ("quantifiers", "There's always something to see.", []),
    ("quantifiers", "It will always still shock me.", []),
    ("modals", "That is as it should be.", []),
    ("modals", "It might have been better.", []),
    ("modals", "I hope this will be the last one.", []),
    ("modals", "Maybe it will help him.", []),
    ("comparatives", "It has one lower limb.", []),
    ("contractions", "It's tone is dark.", []),
    ("politeness", "Give me a chance and I take it.", []),
    ("politeness", "Take the last scene of it.", []),
    ("politeness", "Call me old but I like it.", []),
    ("politeness", "Buy it or don't, it is there.", []),
    ("antonyms", "It is his most expensive film.", []),
    ("antonyms", "It is worse than bad.", []),
    ("numbers", "It gets ten out of ten points.", []),
    ("numbers", "I own 2000 films.", ["I own 200 films."]),
    ("quantifiers", "They were often times late.", []),
    ("comparatives", "It could last longer than that.", []),
    ("comparatives", "It is longer than that.", ["It is shorter than that."]),
    ("modals", "I must note that it is late.", []),
    ("politeness", "Don't you just love it.", []),
    ("negation", "He could but wouldn't with his hands.", []),
    ("negation", "I don't know, it was dull.", []),
    ("negation", "It is one thing to err, but another to lie.", []),
    ("antonyms", "It was on new year's eve.", []),
    ("antonyms", "He is at large.", []),
    ("numbers", "I give it 4 out of 5 stars.", ["I give it 2 out of 5 stars."]),
    ("numbers", "He does it with his two hands.", []),
    ("quantifiers", "I waited for it, and it never did.", []),
    ("quantifiers", "Every thing about it is bad.", []),
    ("modals", "I would urge you to go.", []),
    ("modals", "You can tell that it is late.", []),
    ("comparatives", "They did the best they could.", []),
    ("negation", "My guess is he did it.", []),
    ("negation", "You just can't stop it.", []),
    ("antonyms", "He is one of the intelligence agents.", []),
    ("antonyms", "It will likely never come.", []),
    ("antonyms", "It has had its good share of luck.", []),
    ("antonyms", "It was over too quickly.", []),
    ("antonyms", "I have not been able to come.", []),
    ("numbers", "Zoey 101 is a show.", []),
    ("numbers", "It is for 6 year old kids.", []),
    ("numbers", "It was an 18 but mild.", []),
    ("quantifiers", "It was never released.", []),
    ("quantifiers", "It is never dull.", ["It is always dull."]),
    ("quantifiers", "Everybody should definitely see it.", []),
    ("quantifiers", "Any film of his is always bad.", []),
    ("modals", "At first I must tell you that I like it.", []),
    ("modals", "It is bad, no matter what you might think.", []),
    ("comparatives", "You will laugh harder now.", []),
    ("comparatives", "It is harder now.", ["It is easier now."]),
]


@pytest.mark.parametrize(("kind", "text", "expected"), EXPECTED)
def test_expected_edits(kind: str, text: str, expected: list[str] | None) -> None:
    found = [edit.edited for edit in RULES[kind].edits(text)]
    if expected is None:
        assert len(found) == 2
    else:
        assert found == expected


def test_every_kind_is_tested() -> None:
    assert {kind for kind, _, expected in EXPECTED if expected != []} == set(RULES)
    assert len(TURNING) == 8 and len(SMALL) == 5 and len(KEEPING) == 9


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
def test_an_edit_is_where_it_says(rule: Rule) -> None:
    given = [text for kind, text, _ in EXPECTED if kind == rule.name]
    given += [one.text for one in gold_triples()]
    made = [edit for text in given for edit in rule.edits(text)]
    assert made
    for edit in made:
        assert edit.text[edit.start : edit.end] == edit.before != edit.after
        assert edit.edited == edit.text[: edit.start] + edit.after + edit.text[edit.end :]
        assert edit.edited[:1].isupper() and "  " not in edit.edited
        assert (edit.kind, edit.role) == (rule.name, rule.role)


@pytest.mark.parametrize(
    "text", ["", " ", "!", "don't", "Das ist nicht gut.", "これは良い映画です。", "a " * 500, "’’’"]
)
def test_any_text_can_be_asked(text: str) -> None:
    for rule in RULES.values():
        assert all(isinstance(edit, Edit) for edit in rule.edits(text))


def test_pairs_of_the_lists_are_those_of_wordnet() -> None:
    net = wordnet()

    def bases(word: str) -> set[str]:
        return {word, singular(word) or word, *(base for base, _ in verb_forms(word))}

    def related(one: str, other: str, antonym: bool) -> bool:
        found: set[str] = set()
        for base in bases(one):
            for pos in PARTS:
                for sense in net.senses(base, pos):
                    number = sense.number
                    found |= set(
                        net.antonyms(base, pos, number)
                        if antonym
                        else net.synonyms(base, pos, number)
                    )
        return bool(found & bases(other))

    for one, other in SURE_OPPOSITES.items():
        assert related(one, other, antonym=True), f"{one} {other}"
    for one, other in SURE_SYNONYMS.items():
        assert related(one, other, antonym=False), f"{one} {other}"


def test_articles_follow_the_new_word() -> None:
    sentence = EnglishSentence("An old man and a young woman.")
    assert sentence.replaced(1, 1, "young").after == "A young"
    assert sentence.replaced(5, 5, "old").after == "an old"
    assert sentence.replaced(5, 5, "tall").after == "tall"


def test_sentences_are_cut_at_their_ends() -> None:
    text = "It was made by Dr. Smith.\n\nSee e.g. Fig. 3! It cost 2.5 million. Why"
    first, *_, last, rest = sentences(text)
    assert (first, last, rest) == ("It was made by Dr. Smith.", "It cost 2.5 million.", "Why")
    assert list(sentences("")) == []


@pytest.mark.parametrize(
    "text",
    [
        "Too short, it is.",
        "it was a very good film that everybody should see twice.",
        "It was a very good film that everybody should see twice",
        'It was a "very good" film that everybody should see twice.',
        "It was a VERY good film that everybody should see twice.",
        "It was a very very good film that everybody should see twice.",
        "It was a verry good film that evrybody should see twice.",
        "Very good acting and a splendid story in a great film.",
        "It was " + "a very good film and " * 8 + "a story.",
    ],
)
def test_unreadable_sentences(text: str) -> None:
    assert not readable(text)
