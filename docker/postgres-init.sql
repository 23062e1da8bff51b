-- A small shop. Walberg's role may replicate and read; it owns nothing and alters nothing.
CREATE TABLE customers (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE orders (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  customer_id bigint NOT NULL REFERENCES customers,
  status text NOT NULL DEFAULT 'new',
  total numeric(12, 2) NOT NULL,
  details jsonb,
  ordered_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO customers (name) SELECT 'Customer ' || n FROM generate_series(1, 100) AS n;
INSERT INTO orders (customer_id, total, details)
  SELECT 1 + n % 100, n * 1.25, jsonb_build_object('lines', n % 7) FROM generate_series(1, 1000) AS n;

CREATE PUBLICATION walberg FOR TABLE customers, orders;
CREATE ROLE walberg LOGIN REPLICATION PASSWORD 'walberg';
GRANT SELECT ON customers, orders TO walberg;
