-- Format 2: critical paths.

-- Steps of a visit's critical path in chronological order; times are since navigation start.
CREATE TABLE critical_step (
    run_id    INTEGER NOT NULL,
    journey   INTEGER NOT NULL,
    visit     INTEGER NOT NULL,
    step      INTEGER NOT NULL,
    object    INTEGER NOT NULL,
    cause     TEXT NOT NULL,
    from_ns   INTEGER NOT NULL,
    until_ns  INTEGER NOT NULL,
    excess_ns INTEGER NOT NULL,
    PRIMARY KEY (run_id, journey, visit, step),
    FOREIGN KEY (run_id, journey, visit) REFERENCES visit (run_id, journey, visit) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
