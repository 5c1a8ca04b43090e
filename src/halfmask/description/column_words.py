"""What names of columns say, in several languages: the words, by topic.

Words are lower case without accents; a topic's words are separated by commas, the words of a
phrase by blanks. A topic that is weak gives way to any other that a name mentions.

Sources of the lists: the attributes of the HIPAA Safe Harbor method (45 CFR 164.514(b)(2)) and of
Articles 4, 9 and 10 of the GDPR, and the words for them that tables use.
"""

from __future__ import annotations

from halfmask.description._sensitive_words import SENSITIVE, Topic
from halfmask.description._survey_words import SURVEYS


def _split_words(text: str) -> frozenset[str]:
    return frozenset(word.strip() for word in text.split(","))


# "patient id", "customer_no", "kundennummer": a person and a word for a number.
PERSON_WORDS = _split_words(
    "person, patient, customer, client, member, user, employee, student, pupil, account, subject, "
    "donor, participant, respondent, citizen, resident, beneficiary, applicant, borrower, tenant, "
    "visitor, guest, subscriber, voter, taxpayer, insured, case, encounter, admission, visit, "
    "household, family, owner, kunde, patienten, mitarbeiter, versicherten, salarie, cliente, "
    "paciente, paziente, usuario, invoice, order, transaction, booking, claim, policy, contract, "
    "session, device, vehicle, rider, driver, passenger, cyclist, commuter, traveller, traveler, "
    "trip, ride, journey"
)
ID_WORDS = _split_words(
    "id, ids, no, nr, num, nbr, number, key, code, ref, reference, identifier, identification, "
    "uid, pk, nummer, numero, kennung, index, row"
)
# "months since account", "average balance of accounts": how much or how long, which numbers nobody.
MEASURE_WORDS = _split_words(
    "month, months, mo, mos, mth, mths, mnths, day, days, week, weeks, year, years, yrs, hour, "
    "hours, minutes, seconds, age, amount, amt, average, avg, mean, median, sum, total, pct, "
    "percent, percentage, ratio, rate, share, balance, limit, count, counts, length, duration, "
    "since, monate, tage, jahre, anzahl, summe, mois, jours, montant, meses, dias, mesi, giorni"
)

# Axes of points, 0 being the first: on the earth, on a plane, or words that may mean other things.
AXES = {
    word: (system, number)
    for system, *axes in (
        ("earth", "longitude, longitud, longitudine, lon, lng, long", "latitude, latitud, lat"),
        ("earth", "laengengrad, langengrad, lengtegraad", "breitengrad, breedtegraad"),
        ("earth", "dlugosc, долгота, 经度, 経度", "szerokosc, широта, 纬度, 緯度, latitudine"),
        ("plane", "easting, eastings, rechtswert", "northing, northings, hochwert"),
        ("lengths", "laenge, lange", "breite"),
        ("letters", "x", "y"),
    )
    for number, words in enumerate(axes)
    for word in _split_words(words)
}
# Words next to an axis that say that it is one of points, and not whose.
POINT_WORDS = _split_words(
    "coord, coords, coordinate, coordinates, koordinate, coordonnee, coordenada, point, geo, gps, "
    "geom, loc, location, utm, rd, wgs, wgs84, epsg, deg, degree, degrees, decimal, dd, m, metre, "
    "metres, meter, meters"
)

TOPICS = (
    # --- points at one person by itself -------------------------------------------------------
    Topic(
        "a person's name",
        "identifier",
        "first name, last name, name first, name last, full name, given name, family name, "
        "middle name, maiden name, maiden, mothers maiden, surname, forename, fname, lname, "
        "nickname, first and last name, name of patient, person name, "
        "patient name, customer name, client name, employee name, student name, contact name, "
        "owner name, vorname, nachname, familienname, rufname, geburtsname, prenom, nom, "
        "nom de famille, nom de naissance, nombre, apellido, apellidos, nome, cognome, sobrenome, "
        "apelido, voornaam, achternaam, imie, nazwisko, fornamn, efternamn, fornavn, etternavn, "
        "efternavn, etunimi, sukunimi, имя, фамилия, отчество, 姓名, 名前, 氏名",
        "text",
        few_are_groups=False,
    ),
    Topic(
        "initials of a person's name",
        "identifier",
        "initials, middle initial, first initial, last initial, name initial",
        "text",
    ),
    Topic(
        "an e-mail address",
        "identifier",
        "email, e mail, mail, mail address, email address, courriel, correo, correo electronico, "
        "epost, e post, mailadresse, posta elettronica, adresse mail",
        "text",
    ),
    Topic(
        "a telephone number",
        "identifier",
        "phone, telephone, tel, mobile, mobile number, cell, cellphone, fax, msisdn, gsm, handy, "
        "telefon, telefonnummer, handynummer, rufnummer, telefono, telefone, celular, movil, "
        "portable, cellulare, telefoon, telefoonnummer, phone number, contact number, 電話, "
        "телефон",
        "text",
    ),
    Topic(
        "an official number of a person",
        "identifier",
        "ssn, social security, social security number, social insurance, national id, nationalid, "
        "national identification, national number, nin, nino, national insurance, tax id, tin, "
        "taxpayer id, tax number, steuernummer, steuer id, steueridentifikationsnummer, "
        "sozialversicherungsnummer, rentenversicherungsnummer, ahv, ahv nummer, nir, "
        "numero de securite sociale, securite sociale, dni, nie, nif, cpf, curp, rfc, "
        "codice fiscale, pesel, bsn, burgerservicenummer, personnummer, fodselsnummer, cpr, "
        "cpr nummer, henkilotunnus, aadhaar, aadhar, nric, hkid, passport, passport number, "
        "reisepass, passnummer, passeport, pasaporte, passaporto, passaporte, paspoort, id card, "
        "identity card, identity number, ausweis, personalausweis, ausweisnummer, "
        "carte identite, cedula, driver license, drivers license, driver licence, "
        "drivers licence, driving licence, driving license, license number, licence number, "
        "fuhrerschein, fuehrerschein, permis de conduire, residence permit, green card, "
        "visa number, certificate number, паспорт, 身份证",
        "text",
    ),
    Topic(
        "an account or a card",
        "identifier",
        "iban, bic, account, account number, acct, acct no, bank account, konto, kontonummer, "
        "kontonr, bankverbindung, cuenta, numero de cuenta, compte, numero de compte, conto, "
        "conta, rekening, rekeningnummer, card number, credit card, creditcard, debit card, "
        "cc number, ccnumber, ccn, cvv, cvv2, cvc, cvc2, kreditkarte, kreditkartennummer, "
        "carte bancaire, carte de credit, tarjeta, carta di credito, cartao, wallet, "
        "bitcoin address, routing number, sort code, cc, card",
        "text",
    ),
    Topic(
        "a number by which an institution knows a person",
        "identifier",
        "mrn, medical record, medical record number, patient number, patientennummer, "
        "versichertennummer, versicherungsnummer, kundennummer, kundennr, personalnummer, "
        "matrikelnummer, matricule, insurance number, insurance id, policy number, "
        "health plan number, nhs number, nhs, health card, medicare, medicare number, "
        "beneficiary number, member number, customer number, client number, employee number, "
        "student number, staff number, badge, badge number, case number, aktenzeichen, "
        "numero de dossier, numero de client, numero cliente, pseudonym",
    ),
    Topic(
        "a login or a secret",
        "identifier",
        "username, user name, login, login name, user, password, passwort, kennwort, mot de passe, "
        "contrasena, senha, secret, api key, access token, token, cookie, cookie id, session id, "
        "handle, screen name, benutzername, benutzer, nom d utilisateur, nombre de usuario, pin, "
        "passcode, pwd, author",
        "text",
    ),
    Topic(
        "a device, a connection or a page of a person",
        "identifier",
        "ip, ip address, ipaddress, ipv4, ipv6, client ip, remote addr, mac address, macaddress, "
        "imei, imsi, iccid, meid, device id, advertising id, idfa, gaid, aaid, serial, "
        "serial number, seriennummer, url, uri, website, web site, homepage, domain, profile url, "
        "uuid, guid, fingerprint, twitter, facebook, instagram, linkedin, skype",
        "text",
    ),
    Topic(
        "a vehicle",
        "identifier",
        "vin, license plate, licence plate, number plate, plate, plate number, kennzeichen, "
        "immatriculation, plaque, matricula, targa, placa, kenteken",
        "text",
    ),
    Topic(
        "where a person lives, to the door",
        "identifier",
        "address, street, street address, streetaddress, address line, address1, address2, addr, "
        "home address, postal address, house number, housenumber, strasse, str, hausnummer, "
        "anschrift, wohnadresse, adresse, rue, direccion, domicilio, calle, indirizzo, endereco, "
        "rua, adres, straat, straatnaam, huisnummer, adress, gatuadress, ulica, адрес, 住所, 地址",
        "text",
    ),
    Topic(
        "a person's recognised body",
        "identifier",
        "photo, photograph, picture, portrait, selfie, signature, unterschrift, voiceprint, "
        "iris scan, face id, biometric id, dna profile",
        "text",
    ),
    # --- points at one person together with others --------------------------------------------
    Topic(
        "age",
        "quasi_identifier",
        "age, ages, age group, agegroup, age band, age range, alter, altersgruppe, edad, eta, "
        "idade, leeftijd, wiek, alder, ika, возраст, 年龄, 年齢, age at diagnosis, age at onset, "
        "older",
        inside=130,
    ),
    Topic(
        "birth",
        "quasi_identifier",
        "birth, birthday, birthdate, birth date, date of birth, dateofbirth, dob, yob, birth year, "
        "birthyear, year of birth, month of birth, birth month, birthplace, place of birth, born, "
        "geburt, geburtsdatum, geburtstag, geburtsjahr, geburtsort, gebdat, naissance, "
        "date de naissance, annee de naissance, lieu de naissance, nacimiento, "
        "fecha de nacimiento, nascita, data di nascita, nascimento, data de nascimento, "
        "geboortedatum, geboortejaar, fodselsdato, дата рождения, 生年月日, 出生日期",
        inside=1_000_000_000,
    ),
    Topic(
        "sex or gender",
        "quasi_identifier",
        "sex, gender, geschlecht, sexe, genre, sexo, genero, sesso, genere, geslacht, plec, kon, "
        "kjonn, pronoun, pronouns, title, salutation, anrede, civilite, honorific, prefix, male, "
        "female, пол, 性别, 性別",
        "categorical",
        inside=6,
    ),
    Topic(
        "a place of a person, by its code",
        "quasi_identifier",
        "zip, zipcode, zip code, zip3, zip5, postcode, post code, postal code, postalcode, postal, "
        "plz, postleitzahl, code postal, cp, codigo postal, cap, cep, kod pocztowy, postnummer, "
        "fips, census tract, tract, block group, msa, nuts, nuts3, area code, insee, "
        "country code, countrycode, phone country code, telephone country code",
        "geo",
    ),
    Topic(
        "a place of a person",
        "quasi_identifier",
        "city, town, municipality, village, suburb, neighborhood, neighbourhood, county, district, "
        "borough, region, province, state, state full, canton, country, nation, native country, "
        "nationality, citizenship, residence, location, place, hometown, stadt, ort, wohnort, "
        "gemeinde, bundesland, landkreis, kreis, kanton, land, staat, staatsangehorigkeit, "
        "nationalitat, ville, commune, departement, pays, nationalite, ciudad, municipio, "
        "provincia, estado, pais, nacionalidad, citta, comune, regione, stato, paese, "
        "nazionalita, cidade, nacionalidade, stad, gemeente, woonplaats, nationaliteit, miasto, "
        "kraj, город, страна, 城市, 国家, precinct, ward, parish, constituency, urban, rural, "
        "metropolitan, city size, town size, distance from home, commute, time to work, "
        "urbrur, urban rural",
        "categorical",
    ),
    Topic(
        "a point on the map",
        "quasi_identifier",
        "latitude, longitude, lat, lon, lng, latlon, lat lon, latlng, coordinates, coordinate, "
        "coords, gps, geolocation, geo, geohash, easting, northing, breitengrad, langengrad, "
        "latitud, longitud, latitudine, longitudine, x coord, y coord, h3, h3 cell, h3 index, "
        "s2 cell, plus code, olc, what3words, quadkey, mgrs, grid square, grid reference, osgb",
        "geo",
    ),
    Topic(
        "origin",
        "quasi_identifier",
        "race, ethnicity, ethnic, ethnic group, ethnic origin, ethnie, etnia, raza, raca, "
        "cor raca, herkunft, origin, origine, hispanic, latino, ancestry, tribe, caste, "
        "skin color, skin colour, immigrant, migration, migrant, language, mother tongue, "
        "native language, sprache, muttersprache, langue, idioma, lingua, taal, name set",
        "categorical",
        inside=30,
    ),
    Topic(
        "origin, as yes or no",
        "quasi_identifier",
        "black, white, asian, hisp, hispan, afam, african american, caucasian, nonwhite, "
        "non white, native american, indigenous, aboriginal, minority, foreign, foreign born, "
        "native born, citizen",
        "categorical",
        most=3,
        inside=3,
    ),
    Topic(
        "where a person lives, as yes or no",
        "quasi_identifier",
        "south, north, east, west, northeast, midwest, smsa, city center, suburban",
        "categorical",
        most=5,
    ),
    Topic(
        "family",
        "quasi_identifier",
        "marital, marital status, maritalstatus, married, civil status, familienstand, "
        "zivilstand, beziehungsstatus, etat civil, situation familiale, estado civil, "
        "stato civile, burgerlijke staat, relationship, spouse, partner, household type, widowed, "
        "divorced, single parent, never married, ever married, evermarr, nevermarr, marr, "
        "family status, civil, hhcivil, relat, relate, relhead, relationship to head",
        "categorical",
        inside=30,
    ),
    Topic(
        "family",
        "quasi_identifier",
        "children, number of children, kids, siblings, dependents, dependants, household size, "
        "hhsize, family size, household, kinder, kinderzahl, haushaltsgrosse, enfants, hijos, "
        "figli, filhos, kinderen, twins, sibs, brothers, sisters, birth order, parity, "
        "number of kids, nkids, youngest child, dependent children",
        inside=30,
    ),
    Topic(
        "education",
        "quasi_identifier",
        "education, educational, education num, edu, educ, schooling, school, degree, university, "
        "college, qualification, literacy, major, bildung, bildungsgrad, ausbildung, "
        "schulabschluss, abschluss, schule, niveau d etudes, etudes, diplome, educacion, "
        "estudios, nivel educativo, istruzione, titolo di studio, escolaridade, opleiding, "
        "opleidingsniveau, wyksztalcenie, utbildning, 学历, years of schooling, nodegree, "
        "no degree, high school, student, eduyrs, field of study, education field",
        inside=130,
    ),
    Topic(
        "work",
        "quasi_identifier",
        "occupation, profession, job, job title, jobtitle, employer, company, company name, "
        "employment, employment status, employed, emp title, emp length, workclass, work class, "
        "workplace, industry, sector, position, hours per week, hours, work hours, organization, "
        "organisation, department, dept, military, veteran, beruf, berufsgruppe, tatigkeit, "
        "arbeitgeber, firma, branche, profession libre, metier, emploi, employeur, entreprise, "
        "profesion, ocupacion, empleo, empresa, professione, lavoro, azienda, profissao, "
        "ocupacao, beroep, werkgever, zawod, yrke, 职业, 職業, work experience, experience, exper, "
        "tenure, seniority, years of service, years at company, years in role, years with manager, "
        "years since promotion, working years, companies worked, job level, job role, job class, "
        "business travel, overtime, unemployed, retired, self employed, blue collar, occ, ind, "
        "rank, grade level",
        "categorical",
    ),
    Topic(
        "looks",
        "quasi_identifier",
        "height, body height, weight, body weight, eye color, eye colour, hair color, hair colour, "
        "shoe size, tattoo, korpergrosse, grosse, gewicht, handedness, blood type, bloodtype, "
        "waist, hip circumference, ht, wt, hgt, wgt, weight kg, wtkg, height cm, taille, "
        "poids, peso, altezza, estatura, lengte",
    ),
    *SURVEYS,
    Topic(
        "home",
        "quasi_identifier",
        "home ownership, homeownership, owner occupied, dwelling, housing, housing type, "
        "house type, car make, car model, vehicle type, wohnung",
    ),
    Topic(
        "a date of a person's life",
        "quasi_identifier",
        "date of death, death date, died, admission date, admit date, discharge date, "
        "admission time, discharge time, visit date, hire date, enrollment date, wedding date, "
        "diagnosis date, issue date, expiry date, expires, cc expires, sterbedatum, "
        "aufnahmedatum, entlassungsdatum, fecha de ingreso, fecha de alta",
    ),
    Topic(
        "when something happened, which others may have seen",
        "quasi_identifier",
        "date, datetime, timestamp, time, datum, fecha, dato, zeitpunkt, horodatage, zeit, "
        "created at, updated at, month, year, weekday, day of week",
        weak=True,
    ),
    *SENSITIVE,
    # --- words that say little by themselves --------------------------------------------------
    Topic("a name", "identifier", "name, names, naam, namn, navn, nazwa, initial", weak=True),
    Topic("a given or family name", "identifier", "first, last, given, middle", "text", weak=True),
    Topic(
        "an identifier",
        "identifier",
        "id, ids, uid, identifier, identification, key, row number, rownumber, row id, record id, "
        "record number, record, number, nr, nbr, num, no, nummer, kennung, seqn, seqno, serialno, "
        "rownames, index, obs, observation, idno, idnum, idnr, idcode, idcase, caseno, caseid, "
        "pid, pidnum, studyid, recno, rowid, row, personid, subjid, bib, ticket",
        weak=True,
    ),
    Topic(
        "text that people wrote",
        "identifier",
        "comment, comments, note, notes, remark, remarks, description, free text, freetext, "
        "message, bemerkung, kommentar, commentaire, comentario, observaciones, narrative",
        "text",
        weak=True,
    ),
)
