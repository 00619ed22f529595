-- How soon a visit had something: worked out from the objects' arrivals, so that every row can be asked for it. `model_first_render_ns` is an
-- estimate of the loader, which paints nothing; what a real browser painted is in `paint`. NULL in rows of older formats.
ALTER TABLE visit ADD COLUMN model_first_render_ns INTEGER;
ALTER TABLE visit ADD COLUMN model_byte_index_ns INTEGER;
