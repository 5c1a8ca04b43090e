"""What is found of labelled details, on Presidio Research's sentences and invented people."""

from __future__ import annotations

import csv
import gzip
import json

import pytest

from halfmask.masks.text import USUAL_TYPES, DetailSearch, KnownNames

#: Presidio's labels, ours, and the least share of the details that must be found whole.
LABELS = {
    "EMAIL_ADDRESS": ("email", 1.0),
    "DOMAIN_NAME": ("url", 1.0),
    "IP_ADDRESS": ("ip", 1.0),
    "IBAN_CODE": ("iban", 1.0),
    "CREDIT_CARD": ("card", 0.95),
    "US_SSN": ("national-number", 0.9),
}


@pytest.fixture(scope="module")
def sentences(shared_data):
    path = shared_data / "pii" / "presidio_synth_dataset_v2.json.gz"
    return json.loads(gzip.decompress(path.read_bytes()))


def people(shared_data):
    path = shared_data / "pii" / "FakeNameGenerator.com_3000.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8-sig") as opened:
        return list(csv.DictReader(opened))


@pytest.mark.mostly_slow
@pytest.mark.real_data
@pytest.mark.parametrize("label", LABELS)
def test_details_with_a_form_are_found(sentences, label):
    kind, least = LABELS[label]
    search = DetailSearch(USUAL_TYPES, countries=("US",))
    labelled = found = 0
    for it in sentences:
        details = search.find(it["full_text"])
        for span in it["spans"]:
            if span["entity_type"] == label:
                labelled += 1
                found += any(
                    each.type == kind
                    and each.start <= span["start_position"]
                    and span["end_position"] <= each.stop
                    for each in details
                )

    assert labelled >= 14
    assert found >= least * labelled


@pytest.mark.real_data
def test_what_is_found_is_labelled(sentences):
    """Of details with a checksum or a fixed form, nearly all lie where a label is."""
    types = ("email", "url", "ip", "iban", "card", "national-number", "date", "phone")
    search = DetailSearch(types, countries=("US",))
    n_found = wrong = 0
    for it in sentences:
        for each in search.find(it["full_text"]):
            n_found += 1
            wrong += not any(
                each.start < span["end_position"] and span["start_position"] < each.stop
                for span in it["spans"]
            )

    assert n_found > 300
    assert wrong / n_found < 0.01


@pytest.mark.real_data
def test_known_names_are_found(sentences, shared_data):
    """Of the people who are in the list, four of five are found whole; without it, one of five."""
    names = [it[part] for it in people(shared_data) for part in ("GivenName", "Surname")]
    known = {word.casefold() for word in names}
    searches = [
        DetailSearch(("name",)),
        DetailSearch(("name",), names=KnownNames(names)),
    ]
    whole = [0, 0]
    labelled = 0
    for it in sentences:
        text = it["full_text"]
        persons = [
            (span["start_position"], span["end_position"])
            for span in it["spans"]
            if span["entity_type"] == "PERSON"
            and {word for word in span["entity_value"].casefold().split() if len(word) > 2} <= known
        ]
        labelled += len(persons)
        for at, search in enumerate(searches):
            details = search.find(text)
            whole[at] += sum(
                any(each.start <= start and stop <= each.stop for each in details)
                for start, stop in persons
            )

    assert labelled > 500
    assert 0.05 * labelled < whole[0] < 0.5 * labelled
    assert whole[1] > 0.95 * labelled


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("country", "column", "kind", "least"),
    [
        ("US", "NationalID", "national-number", 1.0),
        ("BR", "NationalID", "national-number", 1.0),
        ("PL", "NationalID", "national-number", 0.97),
        ("DK", "NationalID", "national-number", 0.98),
        ("SE", "NationalID", "national-number", 1.0),
        ("FI", "NationalID", "national-number", 1.0),
        ("FR", "NationalID", "national-number", 1.0),
        ("GB", "NationalID", "national-number", 0.4),
        ("US", "TelephoneNumber", "phone", 1.0),
        ("GB", "TelephoneNumber", "phone", 0.95),
        ("DE", "TelephoneNumber", "phone", 1.0),
        ("FR", "TelephoneNumber", "phone", 0.9),
        ("CA", "ZipCode", "postcode", 1.0),
        ("GB", "ZipCode", "postcode", 1.0),
        ("NL", "ZipCode", "postcode", 0.95),
    ],
)
def test_numbers_of_invented_people_are_found(shared_data, country, column, kind, least):
    search = DetailSearch((kind,), countries=(country,))
    values = [it[column] for it in people(shared_data) if it["Country"] == country and it[column]]
    found = [bool(search.find(f"Please note {value}, and thanks.")) for value in values]

    assert len(found) >= 60
    assert sum(found) >= least * len(found)
