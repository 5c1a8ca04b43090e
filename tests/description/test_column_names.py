"""Names of columns say what they are of, in several languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.data._schema import KINDS, ROLES
from halfmask.description.column_names import hint_of, words_of
from halfmask.description.column_words import TOPICS

IDENTIFIERS = (
    "SSN", "name_first", "FirstName", "Nachname", "apellidos", "cognome", "prénom", "E-Mail",
    "customeremail", "Telefonnummer", "mobile", "IBAN", "account_number", "CCNumber", "passport no",
    "Personalausweis", "patient_nbr", "customerId", "Kundennummer", "user name", "ip_address",
    "StreetAddress", "Straße", "licence plate", "IMEI", "URL", "MRN", "codice fiscale", "phone2",
)  # fmt: skip
QUASI = (
    "age", "Alter", "edad", "Geschlecht", "SEX", "gender", "sexe", "dateOfBirth", "geburtsdatum",
    "fecha_de_nacimiento", "zip", "ZipCode", "PLZ", "code postal", "city", "Wohnort", "ciudad",
    "native-country", "nationality", "race", "ethnicity", "marital-status", "Familienstand",
    "education", "Beruf", "occupation", "workclass", "job_title", "lat", "longitude", "pays",
    "TelephoneCountryCode", "number_of_children", "customer_city", "Größe",
)  # fmt: skip
SENSITIVE = (
    "disease", "Diagnosis", "diag_1", "Krankheit", "enfermedad", "income", "Gehalt", "salaire",
    "annual_income", "religion", "political_party", "sexual orientation", "trade union",
    "hiv_status", "capital-gain", "criminal_record", "medication", "ICD10",
)  # fmt: skip
NOTHING = ("fnl", "split", "mileage", "percentage", "statement", "x1", "colour", "disposition", "_")


@pytest.mark.parametrize(
    ("names", "role"),
    [(IDENTIFIERS, "identifier"), (QUASI, "quasi_identifier"), (SENSITIVE, "sensitive")],
)
def test_names_in_several_languages_and_spellings(names, role):
    hints = {name: hint_of(name) for name in names}

    assert {name: hint and hint.topic.role for name, hint in hints.items()} == dict.fromkeys(
        names, role
    )


INSIDE = {
    "sex or gender": (
        "isex",
        "csex",
        "xsex",
        "sex1",
        "sexcode",
        "pat_sex",
        "iSex",
        "c_sex",
        "SEX_M",
    ),
    "age": ("agea", "cage", "agegrp", "hhage", "age65", "i_age", "patAge", "agemth"),
    "birth": ("ybirth", "birthyr", "birthq", "mnthborn", "i_birth"),
    "origin": ("racegrp", "irace", "race4", "pat_race"),
    "education": ("meduc", "heduc", "educyr", "educ2"),
    "money": ("prewage", "lwage", "wagew", "hrwage"),
}
CHANCE = (
    "image", "mileage", "package", "damage", "voltage", "percentage", "foliage", "stage", "agency",
    "agenda", "agent", "trace", "bracelet", "embrace", "newborn", "airborne", "stubborn",
)  # fmt: skip


@pytest.mark.parametrize("about", INSIDE)
def test_short_words_are_found_with_letters_around_them(about):
    hints = {name: hint_of(name) for name in INSIDE[about]}

    assert {name: hint and hint.topic.about for name, hint in hints.items()} == dict.fromkeys(
        INSIDE[about], about
    )


@pytest.mark.parametrize("name", CHANCE)
def test_short_words_stand_in_others_by_chance(name):
    hint = hint_of(name)

    assert hint is None or hint.topic.about not in {"age", "origin", "birth"}


@pytest.mark.parametrize("name", NOTHING)
def test_words_inside_of_other_words_say_nothing(name):
    assert hint_of(name) is None


@pytest.mark.parametrize("name", ["id", "record_number", "plan_name", "timestamp", "comments"])
def test_words_that_say_little_are_weak(name):
    hint = hint_of(name)

    assert hint is not None
    assert not hint.strong


@pytest.mark.parametrize("name", ["name", "Name", "NAMES", "naam"])
def test_a_name_alone_is_the_name_of_a_person(name):
    hint = hint_of(name)

    assert hint is not None
    assert hint.strong
    assert hint.topic.role == "identifier"


def test_a_word_that_says_little_gives_way():
    for name, role in (("company_name", "quasi_identifier"), ("disease id", "sensitive")):
        hint = hint_of(name)
        assert hint is not None
        assert hint.topic.role == role


@given(st.text())
def test_any_name_is_read(name):
    hint_of(name)
    assert all(word == word.lower() for word in words_of(name))


def test_no_phrase_stands_in_two_topics_of_different_roles():
    seen: dict[str, str] = {}
    for topic in TOPICS:
        assert topic.role in ROLES
        assert topic.kind is None or topic.kind in KINDS
        for phrase in topic.words.split(","):
            word = phrase.strip().replace(" ", "")
            assert word
            assert seen.setdefault(word, topic.role) == topic.role, word
