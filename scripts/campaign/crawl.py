"""Findings of a crawl, as tables in Markdown: FOLDER with visits.parquet and journeys.parquet."""

import sys

import duckdb

folder = sys.argv[1]
connection = duckdb.connect()
for table in ("visits", "journeys"):
    connection.execute(f"CREATE VIEW {table} AS SELECT * FROM '{folder}/{table}.parquet'")
# Pages that lost objects or loads anywhere are compared nowhere.
connection.execute("""
    CREATE TABLE medians AS
    WITH whole AS (
        SELECT page FROM visits GROUP BY page HAVING count(failure) = 0 AND sum(requests_failed) = 0
    )
    SELECT page, network, protocol, median(plt_ns) / 1e6 AS plt_ms, median(floor_graph_ns) / 1e6 AS floor_ms
    FROM visits SEMI JOIN whole USING (page) GROUP BY ALL
""")


def tell(title, query):
    result = connection.sql(query)
    print(f"\n## {title}\n\n| {' | '.join(result.columns)} |\n|{'---|' * len(result.columns)}")
    for row in result.fetchall():
        print(f"| {' | '.join('' if cell is None else str(cell) for cell in row)} |")


tell(
    "Loads",
    """SELECT (SELECT count(*) FROM journeys) AS journeys, (SELECT count(*) FROM journeys WHERE failure IS NOT NULL) AS failed,
    (SELECT count(DISTINCT page) FROM visits) AS pages, (SELECT count(DISTINCT page) FROM medians) AS "compared pages" """,
)
tell("Failed journeys", "SELECT failure AS reason, count(*) AS journeys FROM journeys WHERE failure IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT 9")
tell(
    "Pages that load faster over HTTP/3 than over HTTP/2, by network",
    """SELECT network, round(100 * avg((h3.plt_ms < 0.97 * h2.plt_ms)::int)) || ' %' AS "faster by over 3 %",
    round(100 * avg((h3.plt_ms > 1.03 * h2.plt_ms)::int)) || ' %' AS "slower by over 3 %",
    round(100 * median(h3.plt_ms / h2.plt_ms - 1), 1) || ' %' AS "median change"
    FROM medians AS h2 JOIN medians AS h3 USING (page, network) WHERE h2.protocol = 'h2' AND h3.protocol = 'h3-deployed'
    GROUP BY network ORDER BY median(h3.plt_ms / h2.plt_ms)""",
)
tell(
    "The fastest protocol of a page, by network",
    """PIVOT (SELECT network, arg_min(protocol, plt_ms) AS protocol FROM medians GROUP BY network, page) ON protocol USING count(*) ORDER BY network""",
)
tell(
    "Load time over the floor, median of pages",
    """PIVOT (SELECT network, protocol, round(plt_ms / floor_ms, 2) AS ratio FROM medians) ON protocol USING round(median(ratio), 2) ORDER BY network""",
)
tell(
    "Median load time in seconds",
    """PIVOT (SELECT network, protocol, plt_ms FROM medians) ON protocol USING round(median(plt_ms) / 1000, 2) ORDER BY network""",
)
