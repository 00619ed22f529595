-- Format 2: stop rules and critical paths.

-- Width of medians' intervals, relative to the median, until which the run was repeated; NULL for a fixed number of repetitions.
ALTER TABLE run ADD COLUMN until_ppm INTEGER;

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
