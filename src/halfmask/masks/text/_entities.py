"""Names and places that a language model finds in texts: Presidio with a spaCy model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from halfmask._errors import MissingDependencyError, ParameterError
from halfmask._foreign import need
from halfmask._validation import shown

#: What Presidio calls the entities of language models, and what we call them.
_ENTITIES: Final = {"PERSON": "name", "LOCATION": "place", "NRP": "group"}
_MODEL: Final = re.compile(r"[a-z]{2}_\w+")


class ModelEntities:
    """Searches texts with a spaCy model, through Presidio.

    Notes
    -----
    Presidio's own patterns aren't used: the one for e-mail downloads a list of domains. Nothing is
    downloaded, neither a model. What a model finds depends on the model and its version.
    """

    __slots__ = ("_analyzer", "_language")

    def __init__(self, model: str) -> None:
        check_model(model)
        need("presidio_analyzer", "spacy")
        from presidio_analyzer import AnalyzerEngine  # noqa: PLC0415 # an extra, seconds to import
        from presidio_analyzer.nlp_engine import NlpEngineProvider  # noqa: PLC0415 # the same
        from spacy.util import is_package  # noqa: PLC0415 # the same

        # Presidio would download a model that isn't there.
        if not is_package(model):
            raise MissingDependencyError(
                f"The spaCy model {model!r} isn't installed.",
                hint="Install it from spaCy's releases; nothing is downloaded here.",
            )
        self._language = model[:2]
        models = [{"lang_code": self._language, "model_name": model}]
        provider = NlpEngineProvider(
            nlp_configuration={"nlp_engine_name": "spacy", "models": models}
        )
        self._analyzer: Any = AnalyzerEngine(
            nlp_engine=provider.create_engine(), supported_languages=[self._language]
        )

    def spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield where entities begin and end, and their type."""
        found = self._analyzer.analyze(text=text, language=self._language, entities=list(_ENTITIES))
        for it in found:
            yield it.start, it.end, _ENTITIES[it.entity_type]


def check_model(model: object) -> None:
    """Raise if it isn't the name of a spaCy model, by its form."""
    if not isinstance(model, str) or not _MODEL.fullmatch(model):
        raise ParameterError(
            f"A spaCy model has a name such as 'en_core_web_lg'. Got {shown(model)}.",
            hint="Name an installed model.",
        )
