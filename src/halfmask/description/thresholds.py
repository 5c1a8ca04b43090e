"""From which numbers on a column of a table, or a field of events, is taken for what it is.

Each number stands once, for tables and for events; those of events alone are at the end.
"""

from __future__ import annotations

from typing import Final

#: Nearly every row has a value of its own from this share on.
NEARLY_UNIQUE: Final = 0.95
#: In fewer rows, values differ by chance.
FEW_ROWS: Final = 20
#: A number or an account that so few values stand for points at groups.
FEW_VALUES: Final = 100
FEW_SHARE: Final = 0.05
#: Words and characters by which text is written by people and not chosen from a list.
FREE_WORDS: Final = 6
FREE_CHARACTERS: Final = 40
FREE_UNIQUENESS: Final = 0.2
#: A column called remarks has texts of so many words; codes and ticks have fewer.
REMARK_WORDS: Final = 3
#: Whole numbers of so many digits that are all different are more often codes than measures.
CODE_DIGITS: Final = 6
#: Numbers are consecutive if they spread over so many times their different values at most.
CONSECUTIVE: Final = 1.5
#: Much else looks like a telephone number: those differ in this share of the rows.
PHONE_UNIQUENESS: Final = 0.1
#: From this share of unique rows on, columns single people out together.
SINGLES_OUT: Final = 0.05
#: From this share of rows on, a column of texts is taken to be one of people's names.
SOME_NAMES: Final = 0.2
#: "first" and "last" are of names where so many different texts are.
NAMES_AT_LEAST: Final = 20
#: Names of people in so many rows, of two words and more, are full names.
MOSTLY_NAMES: Final = 0.5
FULL_NAME_WORDS: Final = 1.5
#: A column called subject numbers people where it has so many different values.
PEOPLE_AT_LEAST: Final = 20
#: A name that says little is one of a number of a person where values differ so much.
MANY_VALUES: Final = 1_000
HALF_UNIQUE: Final = 0.5
CALENDAR_YEARS: Final = (1850, 2100)
#: From this share of numbers or dates on a column gets a note, though not enough are.
NEARLY_OF_FORM: Final = 0.8

#: A text of events is free text if it is so long, even if most are short.
LONG_TEXT: Final = 200
#: Whole numbers of a field that is named as a time are seconds between 2001 and 2100.
SECONDS: Final = (1_000_000_000, 4_102_444_800)
#: A field that fewer events have says nothing of the stream.
STREAM_SHARE: Final = 0.5
#: A value that is kept is met in so many events, and with so many entities.
LEAST_EVENTS: Final = 10
LEAST_ENTITIES: Final = 5
MOST_KEPT: Final = 50
#: More names of a map than this aren't followed in one block of a run.
MOST_NAMES: Final = 1_000
#: In a cell of time with so many others, nearly all events have company.
COMPANY: Final = 10
IN_COMPANY: Final = 0.95
