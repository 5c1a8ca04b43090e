"""The words that names of columns are known by."""

from __future__ import annotations

import unicodedata

import pytest

from halfmask.data._schema import KINDS, ROLES
from halfmask.description.column_names import words_of
from halfmask.description.column_words import ID_WORDS, PERSON_WORDS, TOPICS

PHRASES = [
    (topic, phrase.strip()) for topic in TOPICS for phrase in topic.words.split(",") if topic.words
]


def test_every_topic_has_a_role_a_kind_and_words():
    for topic in TOPICS:
        assert topic.role in ROLES
        assert topic.role != "insensitive"
        assert topic.kind is None or topic.kind in KINDS
        assert topic.about


def test_no_word_is_empty():
    assert all(phrase for _, phrase in PHRASES)
    assert all(PERSON_WORDS)
    assert all(ID_WORDS)


@pytest.mark.parametrize("words", [sorted(PERSON_WORDS), sorted(ID_WORDS)], ids=["who", "what"])
def test_words_are_as_names_are_split(words):
    """A word that a name can't be split into would never be found."""
    assert [word for word in words if words_of(word) != (word,)] == []


def test_phrases_are_lower_case_without_accents():
    for _, phrase in PHRASES:
        assert phrase == phrase.lower()
        plain = unicodedata.normalize("NFKD", phrase)
        latin = phrase.isascii() or not any("LATIN" in unicodedata.name(c, "") for c in plain)
        assert latin, phrase


def test_no_phrase_is_of_two_topics_with_different_roles():
    roles: dict[str, set[str]] = {}
    for topic, phrase in PHRASES:
        roles.setdefault(phrase.replace(" ", ""), set()).add(topic.role)

    assert {phrase: found for phrase, found in roles.items() if len(found) > 1} == {}
