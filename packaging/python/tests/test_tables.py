"""The same numbers in pyarrow, pandas, Polars and DuckDB, and in farlink's own files; plots."""

from __future__ import annotations

import statistics
import subprocess
from pathlib import Path

import pytest

import farlink

pyarrow = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def result() -> farlink.Result:
    return farlink.load("synthetic:6x5KB", network=["3g", "4g"], loads=7)


def test_medians_are_the_same_everywhere(result: farlink.Result) -> None:
    table = result.table()
    rows = zip(table.column("network"), table.column("protocol"), table.column("plt_ns"))
    plain: dict[tuple[object, object], list[int]] = {}
    for network, protocol, time in rows:
        plain.setdefault((network, protocol), []).append(time)  # type: ignore[arg-type]
    expected = {key: statistics.median(times) for key, times in plain.items()}
    assert len(expected) == 4

    keys = ["network", "protocol"]
    by_pandas = result.to_pandas().groupby(keys)["plt_ns"].median().to_dict()
    frame = result.to_polars().group_by(keys).agg(polars.col("plt_ns").median())
    by_polars = {(network, protocol): time for network, protocol, time in frame.rows()}
    visits = result.to_arrow()  # noqa: F841  DuckDB finds it by name
    sql = "SELECT network, protocol, median(plt_ns) FROM visits GROUP BY ALL"
    by_duckdb = {
        (network, protocol): time for network, protocol, time in duckdb.sql(sql).fetchall()
    }
    assert by_pandas == by_polars == by_duckdb == expected


def test_memory_is_not_copied(result: farlink.Result) -> None:
    table = result.table()
    addresses = {pyarrow.table(table)["plt_ns"].chunk(0).buffers()[1].address for _ in range(3)}
    assert len(addresses) == 1
    assert polars.from_arrow(pyarrow.table(table)).shape == (28, len(table.column_names))


def test_schemas_have_descriptions(result: farlink.Result) -> None:
    schema = pyarrow.schema(result.table())
    assert schema == pyarrow.table(result.table()).schema
    assert schema.field("plt_ns").metadata


def test_exported_files_have_the_same_rows(result: farlink.Result, tmp_path: Path) -> None:
    store, folder = tmp_path / "s.sqlite", tmp_path / "tables"
    result.save(store)
    command = [farlink.program(), "export", "--store", store, "--table", "all", "--parquet", folder]
    subprocess.run([str(it) for it in command], check=True, capture_output=True)
    saved = farlink.open(store)
    for name in saved.tables():
        assert pandas.read_parquet(folder / f"{name}.parquet").equals(saved.to_pandas(name)), name


def test_empty_tables_have_columns(result: farlink.Result) -> None:
    windows = result.to_arrow("windows")
    assert windows.num_rows == 0 and "cwnd" in windows.column_names


def test_plots(result: farlink.Result, tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = result.plot_ecdf()
    assert sorted(text.get_text() for text in axes.get_legend().get_texts()) == [
        "3g, h1", "3g, h2", "4g, h1", "4g, h2",
    ]  # fmt: skip
    axes = result.plot_medians(by=["protocol"])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["h1", "h2"]
    axes.figure.savefig(tmp_path / "medians.png")
    assert "h2" in result._repr_html_()
