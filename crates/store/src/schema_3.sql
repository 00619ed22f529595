-- Format 3: texts that many journeys share are stored once, and a run may keep visits alone.

-- Scenarios and notes of journeys; `digest` is BLAKE3 of the value.
CREATE TABLE shared_text (
    id     INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    value  TEXT NOT NULL
) STRICT;

INSERT INTO shared_text (digest, value)
SELECT blake3(value), value FROM (SELECT scenario AS value FROM journey UNION SELECT notes FROM journey);

ALTER TABLE journey RENAME TO stored_journey;
ALTER TABLE stored_journey ADD COLUMN scenario_id INTEGER REFERENCES shared_text (id);
ALTER TABLE stored_journey ADD COLUMN notes_id INTEGER REFERENCES shared_text (id);
UPDATE stored_journey SET
    scenario_id = (SELECT id FROM shared_text WHERE digest = blake3(scenario)),
    notes_id = (SELECT id FROM shared_text WHERE digest = blake3(notes));
ALTER TABLE stored_journey DROP COLUMN scenario;
ALTER TABLE stored_journey DROP COLUMN notes;

CREATE VIEW journey AS
SELECT j.run_id, j.position, j.cell, j.repetition, j.seed, j.farlink_version,
       s.value AS scenario, n.value AS notes, j.failure, j.scenario_id
FROM stored_journey AS j
JOIN shared_text AS s ON s.id = j.scenario_id
JOIN shared_text AS n ON n.id = j.notes_id;

-- `all`, or `visits`: no requests, connections, links, events and critical paths.
ALTER TABLE run ADD COLUMN keep TEXT NOT NULL DEFAULT 'all';
