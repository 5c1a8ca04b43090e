"""What a schema of PostgreSQL consists of, as queries to its catalog.

Each has ``{schema}``, the schema's name as a literal. Expressions are printed without it, since the
search path has that schema alone.
"""

from __future__ import annotations

from typing import Final

#: What an object of the catalog needs besides tables and what each PostgreSQL has, as PostgreSQL
#: describes it: ``type mood``, ``sequence s``, ``function f()``. What an extension has in another
#: schema is there for the copy, too.
_NEEDS: Final = """
array_to_json(ARRAY(SELECT DISTINCT rtrim(pg_describe_object(d.refclassid, d.refobjid, 0), '[]')
  FROM pg_depend d WHERE {of} AND d.refclassid <> 'pg_namespace'::regclass
    AND (d.refclassid <> 'pg_class'::regclass
         OR EXISTS (SELECT 1 FROM pg_class s WHERE s.oid = d.refobjid AND s.relkind = 'S'))
    AND NOT (EXISTS (SELECT 1 FROM pg_depend e WHERE e.classid = d.refclassid
                     AND e.objid = d.refobjid AND e.deptype = 'e')
             AND (pg_identify_object(d.refclassid, d.refobjid, 0)).schema
                 IS DISTINCT FROM (parse_ident({{schema}}))[1])))::text
"""
TABLES: Final = """
SELECT c.oid::int8, c.relname::text, c.relkind::text, c.relpersistence = 'u',
  EXISTS (SELECT 1 FROM pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent))
FROM pg_class c WHERE c.relnamespace = {schema}::regnamespace AND c.relkind IN ('r', 'p', 'f')
ORDER BY c.relname COLLATE "C"
"""
#: An expression depends on columns, or the column with the expression does: versions differ.
_OF_COLUMN: Final = """
(d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
 OR a.attgenerated <> '' AND d.classid = 'pg_class'::regclass AND d.objid = a.attrelid
    AND d.objsubid = a.attnum AND d.refobjid NOT IN (a.atttypid, a.attcollation))
"""
DETAILS: Final = f"""
SELECT a.attrelid::int8, a.attname::text, a.attnotnull, a.attidentity::text, a.attgenerated::text,
  pg_get_expr(f.adbin, f.adrelid),
  CASE WHEN a.attcollation <> t.typcollation
       THEN (SELECT CASE WHEN l.collnamespace = 'pg_catalog'::regnamespace
                    THEN 'pg_catalog.' || quote_ident(l.collname) ELSE '' END
             FROM pg_collation l WHERE l.oid = a.attcollation) END,
  CASE WHEN t.typtype = 'd' THEN format_type(t.oid, NULL) END,
  {_NEEDS.format(of=_OF_COLUMN)},
  array_to_json(ARRAY(SELECT DISTINCT o.attname FROM pg_depend d
    JOIN pg_attribute o ON o.attrelid = d.refobjid AND o.attnum = d.refobjsubid
    WHERE {_OF_COLUMN} AND d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid
      AND o.attnum <> a.attnum))::text
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
WHERE c.relnamespace = {{schema}}::regnamespace AND c.relkind IN ('r', 'p', 'f')
  AND a.attnum > 0 AND NOT a.attisdropped
"""
#: Whether an expression or a condition of an index uses a column, or the row as a whole.
_USES: Final = """(
  concat(i.indexprs::text, i.indpred::text) LIKE '%:varattno 0 %'
  OR EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
    AND d.objid = i.indexrelid AND d.refclassid = 'pg_class'::regclass
    AND d.refobjid = i.indrelid AND d.refobjsubid = a.attnum))
"""
_OF_CONSTRAINT: Final = """
(d.classid = 'pg_constraint'::regclass AND d.objid = c.oid AND c.contype IN ('c', 'x')
 OR c.contype = 'x' AND d.classid = 'pg_class'::regclass AND d.objid = c.conindid
    AND d.refclassid <> 'pg_constraint'::regclass)
"""
CONSTRAINTS: Final = f"""
SELECT c.conrelid::int8, c.conname::text, c.contype::text, pg_get_constraintdef(c.oid, true),
  c.convalidated, f.relname::text, f.relnamespace = {{schema}}::regnamespace,
  array_to_json(ARRAY(SELECT a.attname FROM unnest(c.conkey) WITH ORDINALITY k(n, i)
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.n ORDER BY k.i))::text,
  array_to_json(ARRAY(SELECT a.attname FROM unnest(c.confkey) WITH ORDINALITY k(n, i)
    JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.n ORDER BY k.i))::text,
  array_to_json(ARRAY(SELECT a.attname FROM pg_attribute a
    LEFT JOIN pg_index i ON i.indexrelid = c.conindid AND c.contype = 'x'
    WHERE a.attrelid = c.conrelid AND a.attnum > 0 AND NOT a.attisdropped
      AND (c.conbin::text LIKE '%:varattno 0 %' OR {_USES})))::text,
  {_NEEDS.format(of=_OF_CONSTRAINT)}
FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
LEFT JOIN pg_class f ON f.oid = c.confrelid
WHERE r.relnamespace = {{schema}}::regnamespace AND c.contype IN ('p', 'u', 'f', 'c', 'x')
ORDER BY c.contype = 'f', c.conname COLLATE "C"
"""
#: An index on columns alone is also one of other types, if its access method has a usual class.
INDEXES: Final = f"""
SELECT i.indrelid::int8, r.relname::text, pg_get_indexdef(i.indexrelid, 0, true),
  i.indexprs IS NULL AND i.indpred IS NULL AND m.amname IN ('btree', 'hash', 'brin')
    AND NOT EXISTS (SELECT 1 FROM unnest(i.indclass::oid[]) u JOIN pg_opclass o ON o.oid = u
                    WHERE NOT o.opcdefault),
  array_to_json(ARRAY(SELECT a.attname FROM pg_attribute a
    WHERE a.attrelid = i.indrelid AND a.attnum > 0 AND NOT a.attisdropped
      AND (a.attnum = ANY(i.indkey::int2[]) OR {_USES})))::text,
  {_NEEDS.format(of="d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid")}
FROM pg_index i JOIN pg_class r ON r.oid = i.indexrelid JOIN pg_am m ON m.oid = r.relam
WHERE r.relnamespace = {{schema}}::regnamespace AND i.indisvalid
  AND NOT EXISTS (SELECT 1 FROM pg_constraint c
                  WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x'))
ORDER BY r.relname COLLATE "C"
"""
SEQUENCES: Final = """
SELECT s.relname::text, pg_describe_object('pg_class'::regclass, s.oid, 0), t.relname::text,
  a.attname::text, d.deptype::text,
  format_type(q.seqtypid, NULL), q.seqincrement::int8, q.seqmin::int8, q.seqmax::int8,
  q.seqstart::int8, q.seqcache::int8, q.seqcycle
FROM pg_class s JOIN pg_sequence q ON q.seqrelid = s.oid
LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.oid
  AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
LEFT JOIN pg_class t ON t.oid = d.refobjid
LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE s.relnamespace = {schema}::regnamespace AND s.relkind = 'S'
ORDER BY s.relname COLLATE "C"
"""
ENUMS: Final = """
SELECT t.typname::text, pg_describe_object('pg_type'::regclass, t.oid, 0),
  array_to_json(array_agg(e.enumlabel ORDER BY e.enumsortorder))::text
FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid
WHERE t.typnamespace = {schema}::regnamespace GROUP BY t.oid, t.typname ORDER BY 1
"""
#: Types that not every PostgreSQL has: whose schema, what they are, and whether an extension's.
TYPES: Final = """
SELECT t.oid::int8, t.typnamespace = {schema}::regnamespace, quote_ident(n.nspname),
  pg_describe_object('pg_type'::regclass, t.oid, 0), t.typtype = 'e',
  EXISTS (SELECT 1 FROM pg_depend e WHERE e.classid = 'pg_type'::regclass AND e.objid = t.oid
          AND e.deptype = 'e')
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname <> 'pg_catalog'
"""
#: What a schema has besides tables and what belongs to them, and what tables have besides columns.
OTHERS: Final = """
WITH things(classid, objid) AS (
  SELECT 'pg_class'::regclass, c.oid FROM pg_class c
  WHERE c.relnamespace = {schema}::regnamespace AND c.relkind IN ('v', 'm', 'S')
  UNION ALL SELECT 'pg_proc'::regclass, p.oid FROM pg_proc p
  WHERE p.pronamespace = {schema}::regnamespace
  UNION ALL SELECT 'pg_type'::regclass, t.oid FROM pg_type t
  LEFT JOIN pg_class c ON c.oid = t.typrelid
  WHERE t.typnamespace = {schema}::regnamespace AND t.typtype IN ('e', 'd', 'c', 'r')
    AND coalesce(c.relkind, 'c') = 'c'
  UNION ALL SELECT 'pg_collation'::regclass, l.oid FROM pg_collation l
  WHERE l.collnamespace = {schema}::regnamespace
  UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid FROM pg_statistic_ext s
  WHERE s.stxnamespace = {schema}::regnamespace
  UNION ALL SELECT 'pg_trigger'::regclass, g.oid FROM pg_trigger g
  JOIN pg_class c ON c.oid = g.tgrelid
  WHERE c.relnamespace = {schema}::regnamespace AND NOT g.tgisinternal
  UNION ALL SELECT 'pg_rewrite'::regclass, r.oid FROM pg_rewrite r
  JOIN pg_class c ON c.oid = r.ev_class
  WHERE c.relnamespace = {schema}::regnamespace AND r.rulename <> '_RETURN'
  UNION ALL SELECT 'pg_policy'::regclass, y.oid FROM pg_policy y
  JOIN pg_class c ON c.oid = y.polrelid WHERE c.relnamespace = {schema}::regnamespace
)
SELECT pg_describe_object(classid, objid, 0) described FROM things
WHERE NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = things.classid
                  AND d.objid = things.objid AND d.deptype IN ('e', 'i', 'a')
                  AND (d.deptype = 'e' OR d.refclassid = 'pg_class'::regclass
                       AND things.classid = 'pg_class'::regclass))
ORDER BY 1
"""
