-- The rows of one load, in the columns of docs/store.md, and what queries of them have in common. `n` counts the
-- rows of a series.

CREATE TABLE visit (started_at_ns, plt_ns, ttfb_ns, requests, connections, body_bytes, wire_bytes_down, wire_bytes_up);
CREATE TABLE object (object, host, kind, protocol, connection, discovered_at_ns, init_ns, blocked_ns, send_ns, wait_ns,
                     receive_ns, total_ns, request_bytes, body_bytes, error);
CREATE TABLE connection (connection, host, opened_at_ns, connected_at_ns, secured_at_ns, closed_at_ns, srtt_down_ns,
                         cwnd_down, busy_ns, flow_limited_ns);
CREATE TABLE event (at_ns, kind, object, connection, detail);
CREATE INDEX event_by_kind ON event (kind);
CREATE TABLE proxied (object, asked_at_ns, origin_first_ns, origin_last_ns);
-- One row if the load has time series.
CREATE TABLE series (since_ns);
CREATE TABLE window_sample (n, connection, at_ns, cwnd, ssthresh, in_flight, in_flight_bytes, unsent_bytes, srtt_ns, rto_ns);
CREATE TABLE throughput (tenth, bytes_down);
CREATE TABLE packet_size (wire_bytes, down, up);
CREATE TABLE radio_step (n, at_ns, from_state, to_state, by_packet, quiet_ns);
CREATE TABLE departure (object, first_at_ns, last_at_ns);

-- Objects that the network brought, and those of them that belong to the page: found before the load event.
CREATE VIEW arrived AS
SELECT *, discovered_at_ns + init_ns AS sent_at_ns, discovered_at_ns + total_ns AS received_at_ns
FROM object WHERE error IS NULL AND protocol <> 'cache';

CREATE VIEW page_object AS
SELECT arrived.*, max(0, received_at_ns - started_at_ns) / 1e9 AS received_s
FROM arrived, visit WHERE plt_ns IS NULL OR discovered_at_ns < started_at_ns + plt_ns;

-- The fastest handshake of the load's own connections, or else the least smoothed round trip; no row if unknown.
CREATE VIEW round_trip AS
SELECT rtt_ns FROM (
  SELECT coalesce(min(iif(opened_at_ns >= started_at_ns, connected_at_ns - opened_at_ns, NULL)),
                  min(nullif(srtt_down_ns, 0))) AS rtt_ns
  FROM connection, visit
) WHERE rtt_ns IS NOT NULL;

-- Segments that servers sent again.
CREATE VIEW sent_again AS
SELECT at_ns, connection, detail LIKE '%, needless' AS needless
FROM event WHERE kind = 'retransmit' AND detail LIKE 'server, %';
