-- How a visit went over time, packed; NULL where nobody wanted that recorded.
ALTER TABLE visit ADD COLUMN series BLOB;

-- `series_json` is farlink's, as `objects_json` is.
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
