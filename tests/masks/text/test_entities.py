"""Presidio with a language model, an optional peer; a stub stands in for both."""

from __future__ import annotations

import importlib.machinery
import sys
from types import ModuleType, SimpleNamespace

import polars as pl
import pytest

from halfmask._errors import MissingDependencyError, ParameterError
from halfmask.masks import TextRedaction
from halfmask.masks.text import DetailSearch

MODEL = "en_core_web_sm"


class _Analyzer:
    """Finds capitalized Kim and Oslo, as Presidio's results say it."""

    def __init__(self, *, nlp_engine, supported_languages):
        assert nlp_engine == [{"lang_code": "en", "model_name": MODEL}]
        assert supported_languages == ["en"]

    def analyze(self, *, text, language, entities):
        assert language == "en"
        words = {"PERSON": "Kim", "LOCATION": "Oslo", "NRP": "Danish"}
        return [
            SimpleNamespace(start=at, end=at + len(words[kind]), entity_type=kind, score=0.85)
            for kind in entities
            if (at := text.find(words[kind])) >= 0
        ]


class _Provider:
    def __init__(self, *, nlp_configuration):
        self._models = nlp_configuration["models"]

    def create_engine(self):
        return self._models


@pytest.fixture
def presidio(monkeypatch):
    """Presidio and spaCy with one model, as far as they are used."""
    parts: dict[str, dict[str, object]] = {
        "presidio_analyzer": {"AnalyzerEngine": _Analyzer},
        "presidio_analyzer.nlp_engine": {"NlpEngineProvider": _Provider},
        "spacy": {},
        "spacy.util": {"is_package": lambda name: name == MODEL},
    }
    for name, members in parts.items():
        module = ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        for member, value in members.items():
            setattr(module, member, value)
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.usefixtures("presidio")
def test_what_a_model_finds_is_replaced_with_the_patterns_details():
    table = pl.DataFrame({"note": ["Kim (Danish) in Oslo, kim@x.example", "nothing", None, "Kim"]})
    mask = TextRedaction(columns=("note",), types=("email",), model=MODEL)
    plan = mask.fit(table, bytes(32))

    assert plan.apply(table, 0)["note"].to_list() == [
        "<NAME> (<GROUP>) in <PLACE>, <EMAIL>", "nothing", None, "<NAME>"
    ]  # fmt: skip
    assert plan.counts == {"note": {"email": 1, "group": 1, "name": 2, "place": 1}}
    assert DetailSearch((), model=MODEL).find("Oslo")[0].type == "place"


@pytest.mark.usefixtures("presidio")
def test_a_model_that_is_not_installed_is_never_downloaded():
    with pytest.raises(MissingDependencyError, match="'de_core_news_sm' isn't installed"):
        DetailSearch((), model="de_core_news_sm")


def test_presidio_is_named_where_it_is_not_installed(monkeypatch):
    monkeypatch.setattr("halfmask._foreign.find_spec", lambda name: None)  # noqa: ARG005 # as find_spec
    with pytest.raises(MissingDependencyError, match="presidio-analyzer"):
        DetailSearch((), model=MODEL)


@pytest.mark.parametrize("model", ["", "lg", "../en_core", "https://x.example/en_core", "EN_core"])
def test_a_model_has_the_name_of_a_package(model):
    with pytest.raises(ParameterError, match="spaCy model"):
        TextRedaction(columns=("note",), model=model)
