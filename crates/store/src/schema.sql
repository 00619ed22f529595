-- The schema of a store; docs/store.md explains it. Columns named `_ns` are nanoseconds: spans, or with `_at_ns`
-- instants since the journey's world began.

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
) STRICT;

-- Properties of a page's requests that are the same in all visits: a JSON object with one array per column.
CREATE TABLE object_list (
    id      INTEGER PRIMARY KEY,
    digest  TEXT NOT NULL UNIQUE,
    columns TEXT NOT NULL
) STRICT;

-- `objects` is JSON like that of `object_list`: the timings of the requests.
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
    retransmits                    INTEGER,
    queue_drops                    INTEGER NOT NULL,
    losses                         INTEGER NOT NULL,
    trace_digest                   TEXT,
    object_list                    INTEGER NOT NULL REFERENCES object_list (id),
    objects                        TEXT NOT NULL,
    page                           TEXT,
    proxy_events                   BLOB,
    series                         BLOB,
    model_first_render_ns          INTEGER,
    model_byte_index_ns            INTEGER,
    PRIMARY KEY (run_id, journey, visit),
    FOREIGN KEY (run_id, journey) REFERENCES journey (run_id, position) ON DELETE CASCADE,
    CHECK ((plt_ns IS NULL) <> (failure IS NULL))
) STRICT;

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
    retransmits_down INTEGER,
    retransmits_up   INTEGER,
    timeouts_down    INTEGER NOT NULL,
    srtt_down_ns     INTEGER NOT NULL,
    cwnd_down        INTEGER NOT NULL,
    busy_ns          INTEGER NOT NULL,
    flow_limited_ns  INTEGER NOT NULL,
    PRIMARY KEY (run_id, journey, visit, connection),
    FOREIGN KEY (run_id, journey, visit) REFERENCES visit (run_id, journey, visit) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

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

CREATE TABLE link (
    run_id               INTEGER NOT NULL,
    journey              INTEGER NOT NULL,
    visit                INTEGER NOT NULL,
    link                 INTEGER NOT NULL,
    name                 TEXT NOT NULL,
    configured_bit_per_s INTEGER,
    configured_delay_ns  INTEGER NOT NULL,
    configured_loss_ppb  INTEGER,
    offered_packets      INTEGER NOT NULL,
    offered_bytes        INTEGER NOT NULL,
    duplicated_packets   INTEGER NOT NULL,
    delivered_packets    INTEGER NOT NULL,
    delivered_bytes      INTEGER NOT NULL,
    lost_packets         INTEGER NOT NULL,
    queue_full_packets   INTEGER NOT NULL,
    managed_packets      INTEGER NOT NULL,
    too_big_packets      INTEGER NOT NULL,
    marked_packets       INTEGER NOT NULL,
    reordered_packets    INTEGER NOT NULL,
    delivered_bit_per_s  INTEGER,
    busy_ns              INTEGER NOT NULL,
    waited_ns            INTEGER NOT NULL,
    least_unqueued_ns    INTEGER NOT NULL,
    mean_unqueued_ns     INTEGER NOT NULL,
    most_one_way_ns      INTEGER NOT NULL,
    max_queue_packets    INTEGER NOT NULL,
    max_queue_bytes      INTEGER NOT NULL,
    PRIMARY KEY (run_id, journey, visit, link),
    FOREIGN KEY (run_id, journey, visit) REFERENCES visit (run_id, journey, visit) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

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

-- One request of a visit.
CREATE VIEW object AS
SELECT v.run_id, v.journey, v.visit,
       o.value AS object,
       l.columns ->> ('$.url[' || o.key || ']') AS url,
       l.columns ->> ('$.method[' || o.key || ']') AS method,
       l.columns ->> ('$.kind[' || o.key || ']') AS kind,
       v.objects ->> ('$.status[' || o.key || ']') AS status,
       v.objects ->> ('$.protocol[' || o.key || ']') AS protocol,
       v.objects ->> ('$.connection[' || o.key || ']') AS connection,
       v.objects ->> ('$.reused[' || o.key || ']') AS reused,
       v.objects ->> ('$.discovered_at_ns[' || o.key || ']') AS discovered_at_ns,
       v.objects ->> ('$.blocked_ns[' || o.key || ']') AS blocked_ns,
       v.objects ->> ('$.dns_ns[' || o.key || ']') AS dns_ns,
       v.objects ->> ('$.connect_ns[' || o.key || ']') AS connect_ns,
       v.objects ->> ('$.tls_ns[' || o.key || ']') AS tls_ns,
       v.objects ->> ('$.send_ns[' || o.key || ']') AS send_ns,
       v.objects ->> ('$.wait_ns[' || o.key || ']') AS wait_ns,
       v.objects ->> ('$.receive_ns[' || o.key || ']') AS receive_ns,
       v.objects ->> ('$.done_at_ns[' || o.key || ']') AS done_at_ns,
       l.columns ->> ('$.request_header_bytes[' || o.key || ']') AS request_header_bytes,
       l.columns ->> ('$.request_body_bytes[' || o.key || ']') AS request_body_bytes,
       v.objects ->> ('$.response_header_bytes[' || o.key || ']') AS response_header_bytes,
       v.objects ->> ('$.body_bytes[' || o.key || ']') AS body_bytes,
       l.columns ->> ('$.priority[' || o.key || ']') AS priority,
       v.objects ->> ('$.error[' || o.key || ']') AS error,
       o.key IN (SELECT value FROM json_each(l.columns, '$.blocks_render')) AS blocks_render
FROM visit AS v JOIN object_list AS l ON l.id = v.object_list, json_each(l.columns, '$.object') AS o;

-- The views below read packed columns by functions that farlink alone has.
CREATE VIEW proxy_event AS
SELECT v.run_id, v.journey, v.visit,
       e.value ->> 'sequence'   AS sequence,
       e.value ->> 'at_ns'      AS at_ns,
       e.value ->> 'kind'       AS kind,
       e.value ->> 'object'     AS object,
       e.value ->> 'connection' AS connection,
       e.value ->> 'detail'     AS detail
FROM visit AS v, json_each(proxy_events_json(v.proxy_events)) AS e;

CREATE VIEW window_sample AS
SELECT v.run_id, v.journey, v.visit,
       w.value ->> 'connection'        AS connection,
       w.value ->> 'at_ns'             AS at_ns,
       w.value ->> 'cwnd'              AS cwnd,
       w.value ->> 'ssthresh'          AS ssthresh,
       w.value ->> 'in_flight'         AS in_flight,
       w.value ->> 'in_flight_bytes'   AS in_flight_bytes,
       w.value ->> 'unsent_bytes'      AS unsent_bytes,
       w.value ->> 'peer_window_bytes' AS peer_window_bytes,
       w.value ->> 'srtt_ns'           AS srtt_ns,
       w.value ->> 'rto_ns'            AS rto_ns,
       w.value ->> 'retransmits'       AS retransmits
FROM visit AS v, json_each(series_json(v.series, 'windows')) AS w;

CREATE VIEW throughput AS
SELECT v.run_id, v.journey, v.visit,
       v.started_at_ns + t.key * 100000000 AS at_ns,
       t.value ->> 'bytes_down'            AS bytes_down,
       t.value ->> 'bytes_up'              AS bytes_up
FROM visit AS v, json_each(series_json(v.series, 'throughput')) AS t;

CREATE VIEW packet_size AS
SELECT v.run_id, v.journey, v.visit,
       p.value ->> 'wire_bytes' AS wire_bytes,
       p.value ->> 'down'       AS down,
       p.value ->> 'up'         AS up
FROM visit AS v, json_each(series_json(v.series, 'packets')) AS p;

CREATE VIEW radio_step AS
SELECT v.run_id, v.journey, v.visit,
       s.value ->> 'at_ns'     AS at_ns,
       s.value ->> 'from'      AS from_state,
       s.value ->> 'to'        AS to_state,
       s.value ->> 'by_packet' AS by_packet,
       s.value ->> 'quiet_ns'  AS quiet_ns
FROM visit AS v, json_each(series_json(v.series, 'radio')) AS s;

CREATE VIEW departure AS
SELECT v.run_id, v.journey, v.visit,
       d.value ->> 'object'      AS object,
       d.value ->> 'first_at_ns' AS first_at_ns,
       d.value ->> 'last_at_ns'  AS last_at_ns
FROM visit AS v, json_each(series_json(v.series, 'departures')) AS d;
