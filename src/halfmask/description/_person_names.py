"""Names of people, known by the most frequent ones of many countries.

A few hundred names suffice: a column of given or family names holds frequent ones in many rows,
and other columns rarely do. Names that are also colours, places or things are left out.
"""

from __future__ import annotations

import functools
import unicodedata

import polars as pl

# From this share of rows on, a column of texts is taken to be one of people's names.
MIN_NAMES = 0.2
# Texts of more words are sentences or addresses.
MAX_WORDS = 4
# So many different texts are looked up, the most frequent first.
LOOKED_UP = 20_000
GIVEN = """
james john robert michael william david richard joseph thomas charles christopher daniel matthew
anthony donald steven paul andrew joshua kenneth kevin brian george edward ronald timothy jason
jeffrey ryan jacob gary nicholas eric jonathan stephen larry justin brandon benjamin samuel gregory
alexander frank patrick raymond dennis jerry aaron jose adam henry nathan peter zachary kyle walter
harold carl jeremy keith roger arthur terry sean christian noah ethan dylan bryan joe louis albert
ralph roy eugene russell philip harry vincent bobby johnny mary patricia jennifer linda elizabeth
barbara susan jessica sarah karen lisa nancy betty sandra margaret ashley kimberly emily donna
michelle carol amanda melissa deborah stephanie rebecca laura sharon cynthia kathleen amy angela
shirley anna brenda pamela emma nicole helen samantha katherine christine debra rachel carolyn
janet catherine maria heather diane ruth julie olivia joyce kelly lauren christina joan evelyn
judith andrea hannah megan cheryl jacqueline martha gloria teresa ann sara frances kathryn janice
alice julia judy sophia denise doris marilyn danielle beverly isabella theresa natalie brittany
marie kayla alexis lori jeff chris mike dave steve tom jim matt ben sam nick tony greg kim liam
oliver lucas leo max felix paula lena sophie johanna katharina claudia sabine petra monika andreas
stefan martin hans klaus jurgen wolfgang dieter helmut gunter uwe jens tim lukas jonas finn leon
pierre michel philippe nicolas christophe laurent francois isabelle nathalie sylvie valerie
sandrine celine camille chloe manon ines louise antonio manuel francisco juan javier carlos miguel
luis pedro pablo alejandro sergio fernando jorge alberto diego rafael carmen ana isabel dolores
pilar josefa lucia cristina elena marta giuseppe giovanni mario luigi angelo vincenzo salvatore
domenico francesco marco alessandro luca lorenzo matteo giulia chiara francesca alessia martina
joao paulo marcos gabriel mateus juliana fernanda camila beatriz anders lars erik nils karin ingrid
astrid piotr krzysztof andrzej tomasz pawel agnieszka malgorzata katarzyna ewa jakub johannes
willem pieter cornelis ivan sergei sergey dmitri dmitry alexei alexey vladimir mikhail olga natalia
svetlana tatiana irina mohammed muhammad mohamed ahmed ali hassan hussein omar ibrahim mustafa
fatima aisha khadija zainab mehmet emre ayse raj rahul amit sanjay vijay priya pooja anjali sunita
deepak wei li ming jing hui yan hiroshi takashi yuki kenji sakura minjun jiwoo seoyeon tran nguyen
иван александр сергей дмитрий алексей андрей владимир михаил мария анна елена ольга наталья татьяна
"""
FAMILY = """
smith johnson williams jones garcia miller davis rodriguez martinez hernandez lopez gonzalez wilson
anderson thomas taylor moore martin lee perez thompson harris sanchez clark ramirez lewis robinson
walker allen wright torres nguyen flores adams nelson baker rivera campbell mitchell carter roberts
gomez phillips evans turner diaz parker cruz edwards collins reyes stewart morris morales murphy
rogers gutierrez ortiz morgan cooper peterson bailey kelly howard ramos kim richardson watson
brooks chavez james bennett mendoza ruiz hughes alvarez castillo sanders patel myers ross foster
jimenez muller schmidt schneider weber meyer wagner becker schulz hoffmann koch bauer richter
schroder neumann zimmermann kruger hofmann hartmann werner krause lehmann bernard dubois durand
robert moreau laurent simon michel lefebvre leroy bertrand morel fournier girard bonnet fernandez
munoz alonso romero navarro dominguez vazquez serrano molina rossi ferrari esposito bianchi colombo
ricci santos oliveira souza pereira ferreira alves gomes ribeiro martins carvalho almeida andersson
johansson karlsson nilsson eriksson larsson olsson hansen johansen olsen larsen nielsen jensen
pedersen nowak kowalski wisniewski wojcik kowalczyk jansen bakker visser smit meijer ivanov ivanova
petrov petrova smirnov smirnova kuznetsov popov wang li zhang liu chen yang huang zhao wu zhou xu
sato suzuki takahashi tanaka watanabe ito yamamoto nakamura kobayashi choi singh kumar sharma khan
gupta shah das yilmaz kaya demir celik walsh byrne ryan
"""


def share_of_names(values: pl.Series) -> float:
    """Return the share of rows with a text whose first or last word is a frequent name."""
    counts = values.drop_nulls().alias("text").value_counts(sort=True, name="n").head(LOOKED_UP)
    plain = pl.col("text").str.normalize("NFKD").str.replace_all(r"\p{M}", "").str.to_lowercase()
    words = plain.str.extract_all(r"[\p{L}'-]+")
    is_name = (
        (words.list.len() <= MAX_WORDS)
        & ~plain.str.contains(r"\d")
        & (words.list.first().is_in(_known()) | words.list.last().is_in(_known()))
    )
    named, every = counts.filter(is_name)["n"].sum(), counts["n"].sum()
    return int(named) / int(every) if every else 0.0


@functools.cache
def _known() -> tuple[str, ...]:
    """Return the names as texts are compared, without accents."""
    plain = unicodedata.normalize("NFKD", f"{GIVEN} {FAMILY}")
    return tuple(sorted({*"".join(c for c in plain if not unicodedata.combining(c)).split()}))
