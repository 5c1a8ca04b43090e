"""What is accepted and what is refused, by name; and limits that hold in linear time."""

from __future__ import annotations

import pytest

from halfmask._errors import DataError, ParameterError
from halfmask.events import Limits, PathTree, Reason, scan_block
from halfmask.events.block import _block

#: Values, each put into ``{"a": ...}``.
ACCEPTED = {
    "an empty string": b'""',
    "a NUL that is escaped": b'"\\u0000"',
    "a delete": b'"\x7f"',
    "the last character": b'"\xf4\x8f\xbf\xbf"',
    "the last before surrogates": b'"\xed\x9f\xbf"',
    "a noncharacter": b'"\xef\xbf\xbf\\uffff"',
    "a surrogate pair": b'"\\ud83d\\uDE00"',
    "a pair after text of 64 bytes": b'"' + b"x" * 64 + b'\\ud83d\\ude00"',
    "every short escape": b'"\\"\\\\\\/\\b\\f\\n\\r\\t"',
    "minus zero": b"-0",
    "a fraction": b"0.10",
    "exponents": b"[1e5, 1E+5, 1e-5, 0e0, -0.0E-0]",
    "a number beyond floats": b"1e99999",
    "a number of 1,000 digits": b"9" * 1000,
    "words": b"[true, false, null]",
    "white space everywhere": b" [ \t1 ,\r2 ] ",
    "empty containers": b'[[], {}, [{}], {"": []}]',
    "a key like a path": b'{"a.b[]": 1, "*": 2}',
    "twice in what no path goes through": b'{"x": {"y": 1, "y": 2}}',
}
REFUSED = {
    "nothing": b"",
    "a word in capitals": b"True",
    "a word cut off": b"tru",
    "a word run on": b"nulll",
    "a number that JSON has no word for": b"NaN",
    "a negative infinity": b"-Infinity",
    "a plus": b"+1",
    "a leading zero": b"01",
    "a negative leading zero": b"-01",
    "a lone minus": b"-",
    "a point without digits before": b".5",
    "a point without digits behind": b"5.",
    "a point before an exponent": b"5.e3",
    "an exponent without digits": b"1e",
    "an exponent with a sign alone": b"1e+",
    "hexadecimal digits": b"0x10",
    "digits of another script": "\u0661".encode(),
    "a comma at the end of an array": b"[1,]",
    "a comma at the end of an object": b'{"b": 1,}',
    "a comma alone": b"[,]",
    "two commas": b"[1,,2]",
    "no comma": b"[1 2]",
    "no colon": b'{"b" 1}',
    "two colons": b'{"b":: 1}',
    "no value": b'{"b":}',
    "a key without quotes": b"{b: 1}",
    "a key that is a number": b"{1: 1}",
    "a key alone": b'{"b"}',
    "an array that an object's end ends": b"[1}",
    "an object that an array's end ends": b'{"b": 1]',
    "an array that doesn't end": b"[1",
    "single quotes": b"'b'",
    "a string that doesn't end": b'"b',
    "a string that ends in a backslash": b'"b\\',
    "an unknown escape": b'"\\x41"',
    "an escape in capitals": b'"\\N"',
    "an escape with three digits": b'"\\u004"',
    "an escape with a letter": b'"\\u00g0"',
    "a tab in a string": b'"\t"',
    "a NUL in a string": b'"\x00"',
    "a return in a string": b'"\r"',
    "a comment": b"1 // one",
    "white space of another kind": b"\x0c1",
    "a space that doesn't break": b"\xc2\xa01",
    "a byte order mark within": b"\xef\xbb\xbf1",
    "something behind": b"1} 2",
    "an end too many": b"1}",
}
NOT_UTF8 = {
    "a lone continuation": b"\x80",
    "Latin-1": b"\xe9",
    "a character cut off": b"\xe2\x82",
    "an overlong slash": b"\xc0\xaf",
    "an overlong NUL": b"\xc0\x80",
    "overlong in three": b"\xe0\x80\xaf",
    "overlong in four": b"\xf0\x80\x80\xaf",
    "an encoded surrogate": b"\xed\xa0\x80",
    "beyond the last character": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "a byte that never occurs": b"\xff",
}
LONE = {
    "a high one": b"\\ud800",
    "a low one": b"\\uDFFF",
    "two high ones": b"\\ud800\\ud800",
    "a high one before a letter": b"\\udbffx",
    "a high one before another escape": b"\\ud800\\n",
    "a high one before a plain unit": b"\\ud800\\u0041",
    "a low one before a high one": b"\\udc00\\ud800",
}
PATHS = {"nothing": [], "the value": ["a"], "all": ["**"]}


def _reason(value, paths):
    block = scan_block(b'{"a":%b}\n' % value, PathTree(paths))
    return block.bad[0].reason if block.bad else None


@pytest.mark.parametrize("paths", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("value", ACCEPTED.values(), ids=ACCEPTED)
def test_json_is_accepted(value, paths):
    twice = b'"y": 1, "y"' in value and paths == ["**"]

    assert _reason(value, paths) == ("duplicate-key" if twice else None)


@pytest.mark.slow
@pytest.mark.parametrize("paths", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_what_is_no_json_is_refused_also_where_nothing_is_named(value, paths):
    assert _reason(value, paths) == "not-json"


@pytest.mark.parametrize("paths", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize(
    "before", [b"", b"x" * 61, "é".encode() * 40], ids=["first", "at 64 bytes", "behind others"]
)
@pytest.mark.parametrize("text", NOT_UTF8.values(), ids=NOT_UTF8)
def test_bytes_that_are_no_utf8_are_refused(text, before, paths):
    assert _reason(b'"%b%b"' % (before, text), paths) == "not-utf8"
    assert _reason(b'{"%b%b": 1}' % (before, text), paths) == "not-utf8"


@pytest.mark.parametrize("paths", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("text", LONE.values(), ids=LONE)
def test_lone_surrogates_are_refused(text, paths):
    assert _reason(b'"%b"' % text, paths) == "lone-surrogate"
    assert _reason(b'{"%b": 1}' % text, paths) == "lone-surrogate"


@pytest.mark.parametrize("line", [b"[]", b"1", b'"a"', b"null", b'[{"a": 1}]', b" 1.5 "])
def test_values_that_are_no_objects_are_no_events(line):
    assert [bad.reason for bad in scan_block(line, PathTree(["a"])).bad] == [Reason.NOT_AN_OBJECT]


@pytest.mark.parametrize(
    ("line", "paths", "refused"),
    [
        (b'{"a": 1, "a": 2}', ["a"], True),
        (b'{"a": 1, "\\u0061": 2}', ["a"], True),
        (b'{"a": {"b": 1}, "a": {"c": 2}}', ["a.b"], True),
        (b'{"l": [{"b": 1}, {"b": 1, "b": 1}]}', ["l[].b"], True),
        (b'{"l": [{"b": 1}, {"b": 2}], "m": {"b": 3}}', ["l[].b", "m.b"], False),
        (b'{"a": 1, "x": 2, "x": 3}', ["a"], False),
        (b'{"x": {"a": 1, "a": 2}, "a": 3}', ["a"], False),
    ],
)
def test_a_field_that_occurs_twice_is_refused_where_a_path_goes_through_it(line, paths, refused):
    block = scan_block(line, PathTree(paths))

    assert ([Reason.DUPLICATE_KEY] if refused else []) == [bad.reason for bad in block.bad]


def test_lines_are_numbered_whatever_ends_them():
    text = b'\xef\xbb\xbf{"a":1}\r\n\r\n  \t\n{"a":2}\nno\r\n{"a":3}'

    block = scan_block(text, PathTree(["a"]))

    assert block.lines.tolist() == [1, 4, 6]
    assert block.values("a").objects() == [1, 2, 3]
    assert (block.n_lines, block.bad[0].line) == (6, 5)
    assert text[block.bad[0].start : block.bad[0].stop] == b"no\r"


def test_a_byte_order_mark_stands_only_before_the_first_line():
    block = scan_block(b'\xef\xbb\xbf{"a":1}', PathTree(["a"]), first_line=2)

    assert [(bad.line, bad.reason) for bad in block.bad] == [(2, "not-json")]


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_nothing_gives_no_events(data):
    block = scan_block(data, PathTree(["a", "b[].c"]))

    assert (block.n_events, len(block.bad)) == (0, 0)
    assert block.values("b[].c").objects() == []


@pytest.mark.parametrize("paths", PATHS.values(), ids=PATHS)
def test_depth_is_limited(paths):
    nested = [b'{"a":' + b"[" * n + b"]" * n + b"}" for n in (127, 128, 10_000)]
    fields = [b'{"a":' * n + b"1" + b"}" * n for n in (128, 129, 10_000)]

    reasons = [
        [bad.reason for bad in scan_block(line, PathTree(paths)).bad] for line in nested + fields
    ]

    assert reasons == [[], ["too-deep"], ["too-deep"]] * 2
    if paths != ["**"]:
        deep = Limits(depth=20_000)
        assert scan_block(b"\n".join(nested + fields), PathTree(paths), deep).n_events == 6


@pytest.mark.slow
def test_a_line_of_100_megabytes_is_refused_and_the_next_is_read():
    line = b'{"a": "%b"}' % (b"x" * 100_000_000)

    block = scan_block(line + b'\n{"a": 1}\n', PathTree(["a"]))

    assert [(bad.reason, bad.line) for bad in block.bad] == [("too-long", 1)]
    assert block.values("a").objects() == [1]
    assert len(line) == block.bad[0].stop


def test_long_lines_are_read_where_they_may_be():
    text = "é" * 500_000
    line = f'{{"a": "{text}", "b": {"7" * 100_000}}}'.encode()

    block = scan_block(line, PathTree(["a", "b"]), Limits(line_bytes=len(line)))

    assert [text] == block.values("a").objects()
    assert len(block.values("b").token(0)[1]) == 100_000
    assert scan_block(line, PathTree(["a"]), Limits(line_bytes=len(line) - 1)).bad


@pytest.mark.mostly_slow
@pytest.mark.parametrize("size", [4, 4_000_000])
@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        (b"[", "too-deep"),
        (b'{"a":', "too-deep"),
        (b'"', "not-json"),
        (b"\\", "not-json"),
        (b'"\\u0041', "not-json"),
        (b" ", "not-json"),
        (b"1", "not-json"),
        (b'"\xc3\xa9', "not-json"),
        (b'{"a":1},', "not-json"),
        (b'"a",', "not-json"),
    ],
)
def test_whatever_a_line_is_full_of_it_is_refused_at_once(piece, reason, size):
    """A scan that read anything again and again would take hours."""
    line = b'{"a":[' + piece * size

    block = scan_block(line, PathTree(["a[].a"]), Limits(line_bytes=1 << 30, depth=3))

    assert [reason] == [bad.reason for bad in block.bad]


def test_more_places_than_stars_may_mean_are_refused():
    lines = b"".join(b'{"k%d": 1}\n' % (n % 30) for n in range(60))

    block = scan_block(lines, PathTree(["*"]), Limits(paths=20))

    assert len(block.paths) == 20
    assert list(range(1, 21)) == [n for n in block.lines.tolist() if n <= 30]
    assert {"too-many-paths"} == {bad.reason for bad in block.bad}


def test_a_block_beyond_32_bits_is_refused(monkeypatch):
    monkeypatch.setattr(_block, "_LARGEST", 10)

    with pytest.raises(DataError, match="11 bytes"):
        scan_block(b'{"a":     1', PathTree(["a"]))


def test_what_was_not_followed_cannot_be_asked_for():
    block = scan_block(b'{"a": {"b": 1}}', PathTree(["a.b"]))

    for path in ("a", "c", ""):
        with pytest.raises(ParameterError, match="didn't follow"):
            block.values(path)
    with pytest.raises(ParameterError, match="depth"):
        Limits(depth=0)


def test_no_content_is_in_what_is_said_of_a_block():
    block = scan_block(b'{"canary": "canary"}\n{"canary": canary\n', PathTree(["a"]))

    assert "canary" not in repr(block)


def test_bad_lines_are_counted_cut_and_looked_at_alike():
    block = scan_block(b'x\n{"a":1}\n[]\n' * 2000, PathTree(["a"]))

    assert 4000 == len(block.bad) == len(list(block.bad))
    assert block.bad.counts() == {Reason.NOT_JSON: 2000, Reason.NOT_AN_OBJECT: 2000}
    assert list(block.bad)[1030:1040] == list(block.bad[1030:1040])
    assert block.bad[-1].line == 6000
    assert repr(block.bad) == "<4000 bad lines>"
