"""Files of other programs: one hint each, and no text file is taken for one."""

from __future__ import annotations

import bz2
import io
import lzma
import pickle
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import orc

from halfmask._errors import DataError
from halfmask.data import open_table
from halfmask.data.io.formats import foreign_format
from halfmask.hashing import FileHasher, HasherSettings
from halfmask.vault import Secret

CANARY = "canary-Zx81"


def archive(*names):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name in names:
            file.writestr(zipfile.ZipInfo(name), CANARY)  # of 1980: the bytes are a test's name
    return out.getvalue()


def of_numpy():
    out = io.BytesIO()
    np.save(out, np.arange(3))
    return out.getvalue()


def of_orc():
    out = io.BytesIO()
    orc.write_table(pa.table({"a": [1]}), out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "says", "hint"),
    [
        ("a.ods", archive("mimetype"), "an OpenDocument spreadsheet", "as CSV"),
        ("a.por", b"ASCII SPSS PORT FILE" + bytes(99), "a portable SPSS file", "read_por"),
        ("a.zip", archive("people.csv"), "a ZIP archive", "Unpack"),
        ("a.rds", b"X\n\x00\x00\x00\x03" + bytes(99), "an R data file", "write.csv"),
        ("a.rda", b"RDX3\nX\n\x00\x00\x00\x03" + bytes(99), "an R data file", "write.csv"),
        ("a.h5", b"\x89HDF\r\n\x1a\n" + bytes(99), "an HDF5 file", "read_hdf"),
        ("a.npy", of_numpy(), "an array of NumPy", "DataFrame"),
        ("a.pkl", pickle.dumps([1]), "a pickle of Python", "trust"),
        ("a.orc", of_orc(), "an ORC file", "read_orc"),
        ("a.pdf", b"%PDF-1.7\n" + bytes(99), "a PDF document", "as CSV"),
        (
            "a.geojson",
            b'{ "type": "FeatureCollection",\n "features": []}',
            "a file of shapes",
            "as CSV",
        ),
        ("a.shp", b"\0\0\x27\x0a" + bytes(96), "a file of shapes", "as CSV"),
        ("a.csv", f"<!DOCTYPE html>\n<p>{CANARY}".encode(), "a web page", "as CSV"),
        ("a.xls", f"\ufeff<html><td>{CANARY}".encode(), "a web page", "as CSV"),
        ("a.csv", b'<?xml version="1.0"?><a/>', "an XML document", "read_xml"),
        ("a.csv.bz2", bz2.compress(b"a,b\n1,2\n"), "an archive", "Unpack"),
        ("a.csv.xz", lzma.compress(b"a,b\n1,2\n"), "an archive", "Unpack"),
    ],
)
def test_a_file_of_another_program_is_told_what_to_do_with(tmp_path, name, content, says, hint):
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(DataError, match=f"^The table to read is {says}") as caught:
        open_table(path)

    assert hint in str(caught.value.hint)
    assert CANARY not in repr(caught.value)
    with pytest.raises(DataError, match=says):
        FileHasher.fit(path, settings=HasherSettings(), secret=Secret.from_bytes(bytes(32)))


XLSX = archive("[Content_Types].xml", "xl/x.xml")


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("a.xlsx", XLSX, "excel"),
        ("a.csv", XLSX, "excel"),
        ("a", archive("docProps/app.xml"), "excel"),
        ("a.xlsx", archive("x"), "excel"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "excel"),
        ("a.sav", b"$FL2@(#) SPSS DATA FILE" + bytes(99), "spss"),
        ("a.zsav", b"$FL3@(#) SPSS DATA FILE" + bytes(99), "spss"),
        ("a.csv", b"<stata_dta><header>" + bytes(99), "stata"),
        ("a.dta", b"\x6c\x00" + bytes(99), "stata"),
        ("a", b"\x72\x02\x01\x00" + bytes(99), "stata"),
        ("a.sas7bdat", bytes(12) + bytes.fromhex("c2ea8160b31411cf") + bytes(9), "sas"),
        ("a.xpt", b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!", "sas"),
        ("a.csv", b"SQLite format 3\x00" + bytes(99), "sqlite"),
        ("a.csv", bytes(8) + b"DUCK\xe7\x03\x00\x00" + bytes(99), "duckdb"),
        ("a.csv", b"12345678DUCK,1\n", None),
    ],
)
def test_a_file_that_is_read_is_known_by_its_bytes(name, content, form):
    assert foreign_format(content, name, what="The table to read") == form


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("people.csv", "ORCID,age\nx,1\n"),
        ("people.csv", "PK,age\nx,1\n"),
        ("people.csv", "X\nx\ny\n"),
        ("people.csv", "id,<html>\nx,1\n"),
        ("people.xls", "age\ttown\n1\tBree\n"),
        ("people.dta", "age,town\n1,Bree\n"),
        ("people.xls", "age\ttown\n1\tBree\n".encode("utf-16")),
        ("people.csv", "BZh,age\nx,1\n"),
        ("people.csv", "HEADER RECORD,age\nx,1\n"),
    ],
)
def test_a_text_is_read_whatever_it_begins_with_or_is_called(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    assert open_table(path).n_rows >= 1
