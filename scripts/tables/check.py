"""Runs the code of a page on exported tables and compares what DuckDB, pandas, Polars and SQLite read: PAGE FOLDER."""

import contextlib
import io
import os
import pathlib
import re
import sqlite3
import sys

import duckdb
import pandas
import polars

page, folder = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2])
tables = sorted(path.stem for path in (folder / "parquet").iterdir())
assert len(tables) >= 15, tables

# Every format has the same rows.
for table in tables:
    parquet = polars.read_parquet(folder / "parquet" / f"{table}.parquet")
    arrow = polars.read_ipc(folder / "arrow" / f"{table}.arrow")
    assert parquet.equals(arrow), table
    csv = pandas.read_csv(folder / "csv" / f"{table}.csv", dtype=str, keep_default_na=False)
    assert list(csv.columns) == parquet.columns, table
    assert len(csv) == len(parquet), table
    print(f"{table:16}{len(parquet):8} rows, {len(parquet.columns)} columns")

# Load times are those of the store.
stored = sqlite3.connect(folder / "store.sqlite").execute(
    "SELECT scenario ->> '$.stack.protocol', count(*), sum(plt_ns), sum(wire_bytes_down) FROM visit"
    " JOIN journey ON journey.run_id = visit.run_id AND journey.position = visit.journey GROUP BY 1 ORDER BY 1"
).fetchall()
os.chdir(folder / "parquet")
of_duckdb = duckdb.sql(
    "SELECT protocol, count(*), sum(plt_ns)::bigint, sum(wire_bytes_down)::bigint FROM 'visits.parquet' GROUP BY 1 ORDER BY 1"
).fetchall()
sums = {"plt_ns": "sum", "wire_bytes_down": "sum"}
of_pandas = pandas.read_parquet("visits.parquet").groupby("protocol").agg({"run": "count", **sums})
of_polars = polars.read_parquet("visits.parquet").group_by("protocol").agg(polars.len(), *(polars.col(name).sum() for name in sums)).sort("protocol")
assert stored == of_duckdb, (stored, of_duckdb)
assert stored == [tuple(row) for row in of_pandas.reset_index().itertuples(index=False)], of_pandas
assert stored == of_polars.rows(), of_polars
print(f"SQLite, DuckDB, pandas and Polars agree: {stored}")

# The page's queries run and find something.
for query in re.findall(r"```sql\n(.*?)```", page, re.S):
    if "INSTALL" in query:
        continue
    rows = duckdb.sql(query).fetchall()
    assert rows, query
    print(f"{len(rows):4} rows: {query.splitlines()[0]} ...")
for code in re.findall(r"```python\n(.*?)```", page, re.S):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(code, {})
    assert "protocol" in said.getvalue(), said.getvalue()
