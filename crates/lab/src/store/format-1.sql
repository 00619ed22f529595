-- One executed experiment. The only table that holds facts of the wall clock and of the machine.
CREATE TABLE run (
    id              INTEGER PRIMARY KEY,
    name            TEXT NOT NULL,
    plan_digest     TEXT NOT NULL,
    farlink_version TEXT NOT NULL,
    seed            INTEGER NOT NULL,
    repetitions     INTEGER NOT NULL,
    journeys        INTEGER NOT NULL,
    experiment      TEXT,
    command         TEXT NOT NULL,
    machine         TEXT NOT NULL,
    workers         INTEGER NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('running', 'interrupted', 'complete')),
    started_at      TEXT NOT NULL,
    finished_at     TEXT,
    digest          TEXT
) STRICT;
CREATE INDEX run_by_plan ON run (plan_digest);

-- One journey: what was asked for. `position` is its place in the plan.
CREATE TABLE journey (
    run_id          INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    position        INTEGER NOT NULL,
    cell            INTEGER NOT NULL,
    repetition      INTEGER NOT NULL,
    seed            INTEGER NOT NULL,
    farlink_version TEXT NOT NULL,
    scenario        TEXT NOT NULL CHECK (json_valid(scenario)),
    notes           TEXT NOT NULL CHECK (json_valid(notes)),
    failure         TEXT,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

-- One load of one page.
CREATE TABLE visit (
    run_id                         INTEGER NOT NULL,
    journey                        INTEGER NOT NULL,
    visit                          INTEGER NOT NULL,
    view                           TEXT NOT NULL,
    started_at_ns                  INTEGER NOT NULL,
    plt_ns                         INTEGER,
    failure                        TEXT,
    ttfb_ns                        INTEGER,
    floor_graph_ns                 INTEGER,
    floor_oracle_ns                INTEGER,
    floor_graph_without_compute_ns INTEGER,
    floor_oracle_without_compute_ns INTEGER,
    requests                       INTEGER NOT NULL,
    requests_failed                INTEGER NOT NULL,
    connections                    INTEGER NOT NULL,
    connections_flow_limited       INTEGER NOT NULL,
    body_bytes                     INTEGER NOT NULL,
    wire_bytes_down                INTEGER NOT NULL,
    wire_bytes_up                  INTEGER NOT NULL,
    retransmits                    INTEGER NOT NULL,
    queue_drops                    INTEGER NOT NULL,
    losses                         INTEGER NOT NULL,
    trace_digest                   TEXT,
    objects                        BLOB NOT NULL,
    PRIMARY KEY (run_id, journey, visit),
    FOREIGN KEY (run_id, journey) REFERENCES journey (run_id, position) ON DELETE CASCADE,
    CHECK ((plt_ns IS NULL) <> (failure IS NULL))
) STRICT, WITHOUT ROWID;

-- One transport connection of a visit.
CREATE TABLE connection (
    run_id           INTEGER NOT NULL,
    journey          INTEGER NOT NULL,
    visit            INTEGER NOT NULL,
    connection       INTEGER NOT NULL,
    host             TEXT NOT NULL,
    protocol         TEXT NOT NULL,
    tls              TEXT NOT NULL,
    opened_at_ns     INTEGER NOT NULL,
    connected_at_ns  INTEGER,
    secured_at_ns    INTEGER,
    closed_at_ns     INTEGER,
    requests         INTEGER NOT NULL,
    bytes_up         INTEGER NOT NULL,
    bytes_down       INTEGER NOT NULL,
    retransmits_down INTEGER NOT NULL,
    retransmits_up   INTEGER NOT NULL,
    timeouts_down    INTEGER NOT NULL,
    srtt_down_ns     INTEGER NOT NULL,
    cwnd_down        INTEGER NOT NULL,
    busy_ns          INTEGER NOT NULL,
    flow_limited_ns  INTEGER NOT NULL,
    PRIMARY KEY (run_id, journey, visit, connection),
    FOREIGN KEY (run_id, journey, visit) REFERENCES visit (run_id, journey, visit) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- One thing that happened at an instant of a visit.
CREATE TABLE event (
    run_id     INTEGER NOT NULL,
    journey    INTEGER NOT NULL,
    visit      INTEGER NOT NULL,
    sequence   INTEGER NOT NULL,
    at_ns      INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    object     INTEGER,
    connection INTEGER,
    detail     TEXT NOT NULL,
    PRIMARY KEY (run_id, journey, visit, sequence),
    FOREIGN KEY (run_id, journey, visit) REFERENCES visit (run_id, journey, visit) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- One request of a visit, out of the visit's blob. `objects_json` is farlink's: other tools read the
-- rest of the store without it.
CREATE VIEW object AS
SELECT v.run_id, v.journey, v.visit,
       o.value ->> 'object'                AS object,
       o.value ->> 'url'                   AS url,
       o.value ->> 'method'                AS method,
       o.value ->> 'kind'                  AS kind,
       o.value ->> 'status'                AS status,
       o.value ->> 'protocol'              AS protocol,
       o.value ->> 'connection'            AS connection,
       o.value ->> 'reused'                AS reused,
       o.value ->> 'discovered_at_ns'      AS discovered_at_ns,
       o.value ->> 'blocked_ns'            AS blocked_ns,
       o.value ->> 'dns_ns'                AS dns_ns,
       o.value ->> 'connect_ns'            AS connect_ns,
       o.value ->> 'tls_ns'                AS tls_ns,
       o.value ->> 'send_ns'               AS send_ns,
       o.value ->> 'wait_ns'               AS wait_ns,
       o.value ->> 'receive_ns'            AS receive_ns,
       o.value ->> 'done_at_ns'            AS done_at_ns,
       o.value ->> 'request_header_bytes'  AS request_header_bytes,
       o.value ->> 'request_body_bytes'    AS request_body_bytes,
       o.value ->> 'response_header_bytes' AS response_header_bytes,
       o.value ->> 'body_bytes'            AS body_bytes,
       o.value ->> 'priority'              AS priority,
       o.value ->> 'error'                 AS error
FROM visit AS v, json_each(objects_json(v.objects)) AS o;
