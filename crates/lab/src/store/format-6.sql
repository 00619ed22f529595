-- Journeys and visits have long rows: in tables without row numbers each would fill its last overflow page with nothing. They are built anew,
-- and visits get a column for the events at a proxy, packed. Those of older stores stay where they are, in table `event`.
DROP VIEW object;

CREATE TABLE journey_6 (
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
INSERT INTO journey_6 SELECT run_id, position, cell, repetition, seed, farlink_version, scenario, notes, failure FROM journey ORDER BY run_id, position;
DROP TABLE journey;
ALTER TABLE journey_6 RENAME TO journey;

CREATE TABLE visit_6 (
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
    page                           TEXT,
    proxy_events                   BLOB,
    PRIMARY KEY (run_id, journey, visit),
    FOREIGN KEY (run_id, journey) REFERENCES journey (run_id, position) ON DELETE CASCADE,
    CHECK ((plt_ns IS NULL) <> (failure IS NULL))
) STRICT;
INSERT INTO visit_6 SELECT run_id, journey, visit, view, started_at_ns, plt_ns, failure, ttfb_ns, floor_graph_ns, floor_oracle_ns,
    floor_graph_without_compute_ns, floor_oracle_without_compute_ns, requests, requests_failed, connections, connections_flow_limited, body_bytes,
    wire_bytes_down, wire_bytes_up, retransmits, queue_drops, losses, trace_digest, objects, page, NULL FROM visit ORDER BY run_id, journey, visit;
DROP TABLE visit;
ALTER TABLE visit_6 RENAME TO visit;

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

-- One event at a proxy, out of the visit's blob; `proxy_events_json` is farlink's, too.
CREATE VIEW proxy_event AS
SELECT v.run_id, v.journey, v.visit,
       e.value ->> 'sequence'   AS sequence,
       e.value ->> 'at_ns'      AS at_ns,
       e.value ->> 'kind'       AS kind,
       e.value ->> 'object'     AS object,
       e.value ->> 'connection' AS connection,
       e.value ->> 'detail'     AS detail
FROM visit AS v, json_each(proxy_events_json(v.proxy_events)) AS e;
