"""Files, object stores and databases: tables in, and tables out."""
