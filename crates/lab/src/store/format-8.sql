-- What nobody could count is unknown, not 0.
ALTER TABLE connection RENAME COLUMN retransmits_down TO retransmits_down_7;
ALTER TABLE connection RENAME COLUMN retransmits_up TO retransmits_up_7;
ALTER TABLE connection ADD COLUMN retransmits_down INTEGER;
ALTER TABLE connection ADD COLUMN retransmits_up INTEGER;
UPDATE connection SET retransmits_down = retransmits_down_7, retransmits_up = retransmits_up_7;
ALTER TABLE connection DROP COLUMN retransmits_down_7;
ALTER TABLE connection DROP COLUMN retransmits_up_7;

ALTER TABLE visit RENAME COLUMN retransmits TO retransmits_7;
ALTER TABLE visit ADD COLUMN retransmits INTEGER;
UPDATE visit SET retransmits = retransmits_7;
ALTER TABLE visit DROP COLUMN retransmits_7;
