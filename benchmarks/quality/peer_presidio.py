"""Presidio's pattern recognizers, run in their own venv; started by `free_text.py` and others.

    python peer_presidio.py TEXTS.json    # a list of texts; one JSON object on stdout

Presidio finds names and places with a spaCy model, which isn't on the package index. So the
recognizers of patterns run alone, with spaCy's tokenizer for their context words. Nothing is
downloaded: e-mail domains are checked against the list that tldextract ships.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import spacy
import tldextract
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import NlpArtifacts, NlpEngine


class Tokenizer(NlpEngine):
    """Splits texts into words, and finds no entities."""

    def __init__(self) -> None:
        self._nlp = spacy.blank("en")

    def load(self) -> None:
        """Nothing is to be loaded."""

    def is_loaded(self) -> bool:
        return True

    def process_text(self, text: str, language: str) -> NlpArtifacts:
        words = self._nlp(text)
        return NlpArtifacts(
            entities=[],
            tokens=words,
            tokens_indices=[it.idx for it in words],
            lemmas=[it.lower_ for it in words],
            nlp_engine=self,
            language=language,
        )

    def process_batch(
        self, texts: list[str], language: str, **_: object
    ) -> Iterator[tuple[str, NlpArtifacts]]:
        for text in texts:
            yield text, self.process_text(text, language)

    def is_stopword(self, word: str, language: str) -> bool:
        del language
        return bool(self._nlp.vocab[word].is_stop)

    def is_punct(self, word: str, language: str) -> bool:
        del language
        return bool(self._nlp.vocab[word].is_punct)

    def get_supported_entities(self) -> list[str]:
        return []

    def get_supported_languages(self) -> list[str]:
        return ["en"]


def main() -> None:
    tldextract.extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    texts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    engine = Tokenizer()
    registry = RecognizerRegistry(supported_languages=["en"])
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])
    analyzer.analyze("warm up 4111 1111 1111 1111", language="en")
    start = time.process_time()
    found = [analyzer.analyze(text, language="en") for text in texts]
    seconds = time.process_time() - start
    spans = [[[it.start, it.end, it.entity_type, it.score] for it in each] for each in found]
    print(json.dumps({"cpu_seconds": seconds, "spans": spans}))


if __name__ == "__main__":
    main()
