"""What names of columns say of what nobody may learn of a person: the words, by topic.

The topics follow Articles 9 and 10 of the GDPR, and the words that tables use for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.data import Kind, Role


@dataclass(frozen=True, slots=True)
class Topic:
    """What columns are about: a description, a role, and words."""

    about: str
    role: Role
    words: str
    kind: Kind | None = None
    weak: bool = False
    most: int | None = None
    inside: int = 0
    few_are_groups: bool = True


SENSITIVE = (
    Topic(
        "health",
        "sensitive",
        "disease, diseases, diagnosis, diagnoses, diag, diag 1, icd, icd9, icd10, condition, "
        "illness, ill, symptom, symptoms, treatment, therapy, medication, medications, medicine, "
        "drug, drugs, prescription, health, health status, medical, medical condition, "
        "medical specialty, disability, disabled, hiv, aids, cancer, tumor, tumour, pregnant, "
        "pregnancy, pregnancies, abortion, contraception, birth control, mental, depression, "
        "anxiety, allergy, allergies, bmi, body mass index, smoker, smoking, smoke, smokes, "
        "tobacco, cigarettes, cigs, alcohol, drinks, addiction, glucose, insulin, hba1c, "
        "a1cresult, cholesterol, blood pressure, systolic, diastolic, sbp, dbp, bp, surgery, "
        "procedure, comorbidity, mortality, vaccination, vaccinated, test result, lab result, "
        "result, readmitted, injury, injuries, injured, wound, fracture, trauma, accident, "
        "infection, infected, fever, cough, pain, headache, migraine, asthma, diabetes, diabetic, "
        "metformin, hypertension, stroke, heart attack, heart disease, angina, hepatitis, "
        "tuberculosis, tb, malaria, polio, covid, copd, ulcer, colitis, bronchitis, hay fever, "
        "hbp, high blood pressure, glu serum, outpatient, inpatient, emergency, abdominal pain, "
        "itch, hemoglobin, haemoglobin, creatinine, albumin, "
        "bilirubin, platelets, lesion, rash, biopsy, stage of cancer, metastasis, lymph, nodes, "
        "hospital days, hospital admissions, doctor visits, hospitalized, hospitalised, "
        "hospitalizations, suicide, weight loss, krankheit, diagnose, behandlung, medikament, "
        "behinderung, verletzung, raucher, schwanger, schwangerschaft, blutdruck, maladie, "
        "diagnostic, traitement, handicap, blessure, fumeur, enceinte, enfermedad, diagnostico, "
        "tratamiento, discapacidad, lesion, fumador, embarazo, malattia, diagnosi, terapia, "
        "fumatore, gravidanza, doenca, gravidez, ziekte, behandeling, roker, choroba, rozpoznanie, "
        "sjukdom, болезнь, диагноз, 疾病",
    ),
    Topic(
        "money",
        "sensitive",
        "income, annual income, annual inc, household income, family income, faminc, hhinc, inc, "
        "salary, salary class, wage, wages, pay, pay rate, monthly rate, daily rate, hourly rate, "
        "earnings, earn, earns, compensation, bonus, salary hike, stock option, capital gain, "
        "capital loss, debt, dti, balance, loan, loan amount, loan status, credit score, "
        "credit rating, credit history, creditworthiness, credit limit, fico, net worth, wealth, "
        "assets, savings, expenses, expenditure, mortgage, pension, welfare, benefit, benefits, "
        "bankruptcy, bankruptcies, delinquency, delinq, default, defaulted, gehalt, einkommen, "
        "lohn, schulden, vermogen, salaire, revenu, revenus, dette, salario, ingreso, ingresos, "
        "renta, deuda, stipendio, reddito, renda, rendimento, inkomen, salaris, dochod, inkomst, "
        "доход, зарплата, 收入, 年収",
        inside=1_000_000_000,
    ),
    Topic(
        "belief or conviction",
        "sensitive",
        "religion, religious, religiousness, faith, church, denomination, belief, konfession, "
        "glaube, religione, religiao, catholic, protestant, protest, muslim, jewish, hindu, "
        "buddhist, atheist, politics, political, political party, party, party affiliation, "
        "party id, ideology, left right, vote, voted, trade union, union member, "
        "union membership, gewerkschaft, syndicat, partei, godsdienst, religia, религия, 宗教",
    ),
    Topic(
        "sexual life",
        "sensitive",
        "sexual, sexual orientation, sexuality, sexuelle orientierung, orientation sexuelle, "
        "orientacion sexual, number of partners, n partners, condom, condoms, sti, "
        "sexually transmitted, std",
    ),
    Topic(
        "offences",
        "sensitive",
        "crime, criminal, criminal record, conviction, convictions, convicted, offense, offence, "
        "arrest, arrests, arrested, charge degree, charge desc, charge description, sentence, "
        "sentenced, prison, jail, parole, probation, felony, felonies, fel, misdemeanor, "
        "misdemeanors, misd, recidivism, recid, recidivist, violent recid, priors, priors count, "
        "prior convictions, juv, juvenile, victim, citation, straftat, vorstrafe, delito, "
        "infraction, is fraud, fraud",
    ),
    Topic(
        "genes or measures of the body",
        "sensitive",
        "genome, genetic, genetics, dna, genotype, snp, biometric, biometrics",
    ),
    Topic(
        "a judgement on a person, or an opinion",
        "sensitive",
        "performance rating, appraisal, rating, satisfaction, involvement, test score, exam score, "
        "score, risk score, decile score, score text, grades, gpa, iq, iq score, kww, attitude, "
        "opinion, trust, happiness, happy, self esteem, personality, zeugnis, note moyenne",
    ),
    # A model that is trained on the release needs the raw target; nobody should look it up.
    Topic(
        "what a model predicts, or how it ended",
        "sensitive",
        "target, label, outcome, outcomes, response, churn, churned, attrition, survived, "
        "event, events, dead, deceased, death, alive, censored, censor, status, "
        "vital status, relapse, progression, zielvariable",
        weak=True,
    ),
)
