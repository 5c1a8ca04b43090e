"""What tests of masks of several columns have in common."""

from __future__ import annotations

KEY = bytes(range(32))


def changed(mask, table, key=KEY):
    """Return the table as the mask writes it, of the types that it says; see `TableMask`."""
    said = mask.written(table.schema)
    seen = table.select(list(dict.fromkeys((*mask.columns, *mask.reads))))
    plan = mask.fit(seen if mask.needs_rows else seen.clear(), key)
    found = plan.apply(seen, 0)
    assert {name: found.schema[name] for name in mask.columns} == said
    for name in mask.columns:
        assert found[name].is_null().equals(table[name].is_null())
    half = table.height // 2
    assert plan.apply(seen.slice(half), half).equals(found.slice(half))
    assert "key" not in repr(plan)
    return table.with_columns(found)
