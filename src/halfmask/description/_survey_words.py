"""What names of columns say in tables of surveys: weights, design, households and their members.

Among the words are the variables of EU-SILC, IPUMS and the Current Population Survey.
"""

from __future__ import annotations

from typing import Final

from halfmask.description._sensitive_words import Topic

SAMPLING_WEIGHT: Final = Topic(
    "a sampling weight, which differs by group",
    "quasi_identifier",
    "sampling weight, sample weight, survey weight, household weight, person weight, "
    "individual weight, final weight, fnlwgt, afnlwgt, finalwgt, finalwt, fweight, pweight, "
    "design weight, base weight, weighting, weighting factor, weight factor, expansion factor, "
    "hhwt, hhwgt, hhweight, hh weight, hh wgt, perwt, perwgt, persweight, pers weight, pwgt, "
    "pwgtp, wgtp, wtfinl, asecwt, wtsupp, wtssall, hwgt, smplwt, sampwt, samplewt, "
    "calibrated weight, calibration weight, replicate weight, longitudinal weight, "
    "gewichtungsfaktor, gewichtung, hochrechnungsfaktor, hochrechnung, stichprobengewicht, "
    "haushaltsgewicht, personengewicht, designgewicht, ponderation, coefficient de ponderation, "
    "poids de sondage, poids d echantillonnage, poids final, poids menage, poids individu, "
    "coefficient d extrapolation, factor de expansion, factor expansion, factor de ponderacion, "
    "ponderador, ponderacion, peso muestral, peso campionario, coefficiente di riporto, pesofit, "
    "peso finale, peso amostral, fator de expansao, fator de ponderacao, weegfactor, "
    "steekproefgewicht, waga, kalibreringsvikt, db090, rb050, pb040",
    "numeric",
)
HOUSEHOLD: Final = Topic(
    "a household, by its number",
    "identifier",
    "hid, hhid, ori hid, hhno, hhnr, hhnum, famid, family id, hserial, hldid, haushaltsnummer, "
    "haushaltsid, haushaltsnr, idmenage, idhogar, idfamiglia, nquest, huishoudnummer, hushallsid, "
    "db030, hb030",
)
# "household id", "hh_no", "Haushalt-Nr", "id_menage": a household and a word for a number.
HOUSEHOLD_WORDS: Final = frozenset(
    {
        *("household", "households", "hh", "hhld", "family", "haushalt", "haushalts", "menage"),
        *("foyer", "hogar", "famiglia", "familia", "agregado", "huishouden", "hushall"),
    }
)
#: Words that stand before a household's: "no family" has none.
NUMBER_BEFORE: Final = frozenset({"id", "ident", "identifiant", "numero", "codigo"})

SURVEYS: Final = (
    SAMPLING_WEIGHT,
    HOUSEHOLD,
    Topic(
        "how a sample was drawn, which differs by group",
        "quasi_identifier",
        "stratum, strata, psu, primary sampling unit, schicht, strate, estrato, strato",
        "categorical",
    ),
)
