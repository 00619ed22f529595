-- Which page of the journey's list a visit was to; NULL where the scenario names the only one.
ALTER TABLE visit ADD COLUMN page TEXT;
