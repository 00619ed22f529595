-- How punctual the emulator was; no row where nothing was emulated.
CREATE TABLE emulation (
    run_id            INTEGER NOT NULL,
    journey           INTEGER NOT NULL,
    visit             INTEGER NOT NULL,
    delivered_packets INTEGER NOT NULL,
    late_p50_ns       INTEGER NOT NULL,
    late_p99_ns       INTEGER NOT NULL,
    late_max_ns       INTEGER NOT NULL,
    realtime          INTEGER NOT NULL,
    attempts          INTEGER NOT NULL,
    kernel            TEXT NOT NULL,
    PRIMARY KEY (run_id, journey, visit),
    FOREIGN KEY (run_id, journey, visit) REFERENCES visit (run_id, journey, visit) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What a real browser showed, and when, in nanoseconds since navigation start; no row where nothing was painted.
CREATE TABLE paint (
    run_id                      INTEGER NOT NULL,
    journey                     INTEGER NOT NULL,
    visit                       INTEGER NOT NULL,
    dom_content_loaded_ns       INTEGER,
    first_paint_ns              INTEGER,
    first_contentful_paint_ns   INTEGER,
    largest_contentful_paint_ns INTEGER,
    speed_index_ns              INTEGER,
    PRIMARY KEY (run_id, journey, visit),
    FOREIGN KEY (run_id, journey, visit) REFERENCES visit (run_id, journey, visit) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
