"""Each type of detail: right ones are found, wrong ones aren't, wherever they stand."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.masks.text import DetailSearch, _documents
from halfmask.masks.text._pattern import DetailPattern

COUNTRIES = ("US", "GB", "DE", "FR", "NL", "PL", "CA", "BR", "DK", "SE", "FI", "ES", "IT", "IN")
FOUND = {
    "email": [
        "ann.b+x@example.co.uk", "ANN_B@EXAMPLE.ORG", "müller@bücher.example", "a@b.c",
        "x" * 64 + "@example.org", "o`neil@a.org", "o\u00b4neil@a.org", "o\uff07neil@a.org",
        "ann%40a.org", "ann@my_host.a.org",
    ],
    "url": ["https://example.org/a?b=c#d", "http://x.y", "ftp://h/p", "www.Example.org/ä",
        "HTTPS://A.B"],
    "ip": ["192.168.0.1", "255.255.255.255", "fe80::1", "2001:db8::8a2e:370:7334",
        "::ffff:10.0.0.1", "010.001.000.255",
    ],
    "mac": ["00:1A:2b:3c:4d:5e", "00-1A-2B-3C-4D-5E"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"],
    "iban": [
        "DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "gb82west12345698765432",
        "DE 89 3704 0044 0532 0130 00", "NO93 8601 1117 947", "FR14 2004 1010 0505 0001 3M02 606",
        "MT84MALT011000012345MTLCAST001S",
    ],
    "card": [
        "4111 1111 1111 1111", "4111-1111-1111-1111", "378282246310005", "3782 822463 10005",
        "30569309025904", "6011111111111117", "3530111333300000", "5555555555554444",
        "2223003122003222", "4222222222222", "6759649826438453",
    ],
    "national-number": [
        "536-90-4399", "AB 12 34 56 C", "36 574 261 809", "RCCMNL83S18D969H", "211062-5629",
        "390.533.447-05", "44051401359", "2 95 10 99 126 111 93", "54362315K", "131052-308T",
        "123 456 782", "2341 2341 2346",
    ],
    "date": [
        "2024-02-29", "2024-02-29T12:30:00Z", "2007-01-17 23:08:55", "29.02.2024", "7/14/1995",
        "14/7/1995", "2/29/24", "3 May 2024", "May 3rd, 2024", "3. Mai 2024", "3 de mayo de 2024",
        "14 juillet 1889", "December 25", "1 août 2001", "29-Feb-2024", "29-FEB-24", "9/May/2024",
        "29FEB2024", "2024-Feb-29", "2024-2-9", "29.02.24", "29. 02. 2024", "29 / 2 / 24",
        "29-02-24", "20240229", "20240229103000", "2024年2月29日", "2024년 2월 29일",
        "3rd of May 2024", "3 May '24", "3 мая 2024", "3 maja 2024", "3 maggio 2024",
        "1º de maio de 2024", "3.Mai 2024", "3 May\n2024", "29\tFeb\r\n2024", "Feb-29-2024",
    ],
    "phone": [
        "+44 20 7946 0018", "+442079460018", "020 7946 0018", "(212) 736-0187",
        "212.736.5000", "+1-212-736-5000x123", "089 636 48018", "06-12345678",
        "+41 (0)44 668 18 00", "+44 20\n7946\t0018", "020 7946\r\n0018",
    ],
    "postcode": ["SW1A 1AA", "K1A 0B1", "12345-6789", "1012 AB", "53-320"],
    "passport": ["L898902C36UTO7408122F1204159ZE184226B<<<<<10"],
    "driving-licence": ["MORGA753116SM9IJ"],
}  # fmt: skip
#: A valid number of each module of python-stdnum.
EXAMPLES = {
    "at.vnr": "1237 010180", "au.tfn": "123 456 782", "be.nn": "85.07.30-033 28",
    "bg.egn": "7523169263", "br.cpf": "390.533.447-05", "ca.sin": "123 456 782",
    "ch.ssn": "756.9217.0769.85", "cl.rut": "76.086.428-5", "cn.ric": "360426199101010071",
    "cz.rc": "710319/2745", "de.idnr": "36 574 261 809", "dk.cpr": "211062-5629",
    "ee.ik": "36805280109", "es.dni": "54362315-K", "es.nie": "X-2482300W",
    "fi.hetu": "131052-308T", "fr.nir": "2 95 10 99 126 111 93", "gb.nhs": "943 476 5870",
    "gr.amka": "01013099997", "hr.oib": "33392005961", "ie.pps": "6433435F",
    "il.idnr": "039337423", "in_.aadhaar": "2341 2341 2346", "in_.pan": "ACUPA7085R",
    "is_.kennitala": "450401-3150", "it.codicefiscale": "RCCMNL83S18D969H",
    "kr.rrn": "971013-9019902", "lt.asmens": "33309240064", "mx.curp": "BOXW310820HNERXN09",
    "my.nric": "770305-02-1234", "nl.bsn": "1112.22.333", "no.fodselsnummer": "151086 95088",
    "pl.pesel": "44051401359", "pt.cc": "00000000 0 ZZ4", "ro.cnp": "1630615123457",
    "se.personnummer": "880320-0016", "si.emso": "0101006500006", "sk.rc": "710319/2745",
    "th.pin": "1-2345-45678-78-1", "tr.tckimlik": "17291716060", "us.ssn": "536-90-4399",
    "us.itin": "912-90-3456", "za.idnr": "750330 5044 08 9",
}  # fmt: skip
NOT_FOUND = {
    "email": ["ann@", "@ann", "ann at example.org", "a@b", "x @ y.org"],
    "url": ["http//example.org", "wwwexample", "https://", "the www. prefix"],
    "ip": ["256.1.1.1", "1.2.3", "1.2.3.4.5", "12:30:15", "std::vector", "a :: b", "v1.2.3.4x"],
    "mac": ["00:1A:2B:3C:4D", "00:1A:2B:3C:4D:5G", "00:1A-2B:3C-4D:5E", "00:1A:2B:3C:4D:5E:6F"],
    "uuid": ["123e4567-e89b-12d3-a456-42661417400", "123e4567e89b12d3a456426614174000"],
    "iban": [
        "DE89370400440532013001", "XX89370400440532013000", "DE8937040044053201300",
        "DE893704004405320130000", "AB12 CDEF GHIJ KLMN",
    ],
    "card": [
        "4111 1111 1111 1112", "1234567812345670", "0000 0000 0000 0000", "41111111111111111111111",
        "0.4111111111111111",
    ],
    "national-number": [
        "666-90-4399", "000-12-3456", "536904399", "GB 12 34 56 A",
        "36 574 261 808", "390.533.447-06",
        "44051401358", "54362315A", "131052-308U", "123 456 783",
    ],
    "date": [
        "2023-02-29", "31.04.2024", "13/13/2020", "1.2.3", "12-30", "2024-13-01", "1/2", "0/0/2000",
        "32 May 2024", "May 2024", "1984", "Friday", "v1.2.2024.7", "20241301", "12345678",
        "99-99-99",
    ],
    "phone": ["12345", "+1 23", "1234567890123456789", "7/14/1995", "999 999 99", "555-0187"],
    "postcode": ["SW1A1A", "D1A 0B1", "53320", "1012ab", "room 12345"],
    "passport": [
        "passport control", "my passport to be ready",
        "L898902C37UTO7408122F1204159ZE184226B<<<<<10",
    ],
    "driving-licence": ["driver's licence renewal", "ABCDE123"],
}  # fmt: skip


def found(types, text, **options):
    return [text[it.start : it.stop] for it in DetailSearch(types, **options).find(text)]


@pytest.mark.parametrize(
    ("kind", "detail"), [(kind, it) for kind, all_of in FOUND.items() for it in all_of]
)
@pytest.mark.parametrize(
    "text", ["{}", "Call Zoë: {}, please.", "é {}\nand more", "({})", "x {} y {}"]
)
def test_details_are_found_whole(kind, detail, text):
    filled = text.format(detail, detail)
    assert found((kind,), filled, countries=COUNTRIES) == [detail] * text.count("{}")


@pytest.mark.parametrize(
    ("kind", "other"), [(kind, it) for kind, all_of in NOT_FOUND.items() for it in all_of]
)
def test_what_is_no_detail_is_kept(kind, other):
    # German numbers have so many lengths that most digits are one of them.
    countries = ("US", "GB", "FR") if kind == "phone" else COUNTRIES
    for text in (other, f"Zoë said {other} twice"):
        assert not found((kind,), text, countries=countries)


@pytest.mark.parametrize(
    ("kind", "text", "detail"),
    [
        ("passport", "Passport No: X1234567, issued", "X1234567"),
        ("passport", "her passport number is 123456789.", "123456789"),
        ("driving-licence", "Driver's license no. D1234-56789", "D1234-56789"),
        ("driving-licence", "driving licence: F162823540116", "F162823540116"),
        ("postcode", "zip code 94103", "94103"),
        ("postcode", "Postal code: 75008 Paris", "75008"),
        ("name", "Thanks, Dr. Anna B. van Loo said", "Anna B. van Loo"),
        ("name", "my name is Ünal Çelik and I", "Ünal Çelik"),
        ("name", "Name: Bob", "Bob"),
        ("name", "Dr. Smith's dog", "Smith"),
        ("name", "Mr. O'Neil_x", "O'Neil"),
        ("card", "card 4111111111111111 12/27", "4111111111111111"),
        ("card", "order 17 4111111111111111", "4111111111111111"),
        ("iban", "DE89 3704 0044 0532 0130 00 then more", "DE89 3704 0044 0532 0130 00"),
        ("url", "see (https://example.org/a).", "https://example.org/a"),
    ],
)
def test_details_that_words_announce_or_follow(kind, text, detail):
    assert found((kind,), text) == [detail]


@pytest.mark.parametrize("text", ["Mr. said so", "the name is unknown", "I'm here", "Dr house"])
def test_words_without_a_capital_are_no_names(text):
    assert not found(("name",), text)


def test_countries_decide_what_is_a_number():
    """A number without its country's code is found only if that country is given."""
    text = "020 7946 0018 or 390.533.447-05 or 1012 AB"
    kinds = ("phone", "national-number", "postcode")

    assert not found(kinds, text)
    assert found(kinds, text, countries=("GB",)) == ["020 7946 0018"]
    assert found(kinds, text, countries=("BR", "NL"))[-2:] == ["390.533.447-05", "1012 AB"]


def test_every_country_has_numbers_that_its_module_accepts():
    """Each form lets a valid number of its module through: none is written too narrowly."""
    forms = {name: by for by, all_of in _documents._NUMBERS.items() for name in all_of}

    assert set(EXAMPLES) == set(forms)
    missed = [
        name
        for name, text in EXAMPLES.items()
        if text not in found(("national-number",), f"no. {text}!", countries=(forms[name],))
    ]
    assert not missed


def random_numbers(digits, n=2_000):
    draw = random.Random(digits)
    return [f"{draw.randrange(10 ** (digits - 1), 10**digits)}" for _ in range(n)]


def false_share(kind, numbers):
    search = DetailSearch((kind,), countries=("PL",))
    return sum(bool(search.find(f"no. {it}")) for it in numbers) / len(numbers)


def false_iban_share():
    draw = random.Random(5)
    search = DetailSearch(("iban",))
    texts = [f"DE{draw.randrange(10**19, 10**20)}" for _ in range(2_000)]
    return sum(bool(search.find(it)) for it in texts) / len(texts)


def test_checksums_keep_other_numbers(monkeypatch):
    """Random numbers pass as often as the check digits let them; without a check, far more do."""
    card, pesel = random_numbers(16), random_numbers(11)
    assert false_share("card", card) < 0.06
    assert false_share("national-number", pesel) < 0.02
    assert false_iban_share() < 0.03

    monkeypatch.setattr(_documents, "luhn", lambda text: True)  # noqa: ARG005 # as luhn
    monkeypatch.setattr(_documents, "iban", lambda text: True)  # noqa: ARG005 # as iban
    assert false_share("card", card) > 0.2
    assert false_iban_share() > 0.9


def test_a_pattern_tries_each_start():
    """A match that the check refuses doesn't take the detail behind it along."""
    pattern = DetailPattern(r"\d", re.compile(r"(?=(\d{2}))"), lambda it: 2 * (it == "23"))

    assert list(pattern.spans("1234")) == [(1, 3)]


def test_a_module_that_fails_says_no():
    """A place that python-stdnum doesn't list raises KeyError in some of its versions."""
    assert not found(("national-number",), "no. 629501199808177676", countries=("CN",))


@given(
    st.sampled_from(sorted(EXAMPLES.values())),
    st.lists(st.tuples(st.integers(0, 24), st.characters()), max_size=3),
    st.sampled_from(["0123456789", "٠١٢٣٤٥٦٧٨٩"]),
)
def test_no_text_makes_a_check_fail(example, changes, digits):
    """Numbers with other characters in them, and with digits of other scripts."""
    signs = [digits[int(it)] if it in "0123456789" else it for it in example]
    for at, sign in changes:
        signs[at % len(signs)] = sign

    for country in _documents.NATIONAL_COUNTRIES:
        for pattern in _documents.national_numbers(country):
            list(pattern.spans("".join(signs)))
