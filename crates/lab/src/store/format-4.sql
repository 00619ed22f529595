-- What the client's radio did, in microjoules; no row where the network has none.
CREATE TABLE radio (
    run_id     INTEGER NOT NULL,
    journey    INTEGER NOT NULL,
    visit      INTEGER NOT NULL,
    radio      TEXT NOT NULL,
    promotions INTEGER NOT NULL,
    energy_uj  INTEGER NOT NULL,
    up_uj      INTEGER NOT NULL,
    down_uj    INTEGER NOT NULL,
    tail_uj    INTEGER NOT NULL,
    PRIMARY KEY (run_id, journey, visit),
    FOREIGN KEY (run_id, journey, visit) REFERENCES visit (run_id, journey, visit) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The states that it was in.
CREATE TABLE radio_state (
    run_id    INTEGER NOT NULL,
    journey   INTEGER NOT NULL,
    visit     INTEGER NOT NULL,
    state     TEXT NOT NULL,
    span_ns   INTEGER NOT NULL,
    energy_uj INTEGER NOT NULL,
    PRIMARY KEY (run_id, journey, visit, state),
    FOREIGN KEY (run_id, journey, visit) REFERENCES visit (run_id, journey, visit) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
