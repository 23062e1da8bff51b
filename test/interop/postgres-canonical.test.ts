import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { startPostgres, type PostgresServer } from '../../src/demo/postgres-server.js';
import { CANONICAL_SESSION_SQL, postgresCanonicalSql } from './readers/postgres-canonical.js';

/** Type, SQL value, canonical text worked out by hand. */
const CASES: readonly (readonly [type: string, value: string, text: string | null])[] = [
  ['boolean', 'true', 'true'], ['bool', 'false', 'false'], ['boolean', 'null', null],
  ['smallint', '-32768', '-32768'], ['bigint', '-9223372036854775808', '-9223372036854775808'],
  ['real', '0.1', '3fb99999a0000000'], ['real', "'-0'", '8000000000000000'], ['double precision', '1e300', '7e37e43c8800759c'], ['double precision', "'Infinity'", '7ff0000000000000'],
  ['float8', "'NaN'", '7ff8000000000000'], ['float8', "'Infinity'::float8 - 'Infinity'::float8", '7ff8000000000000'], ['float8', 'null', null],
  ['numeric(10,2)', '1', '1.00'], ['numeric(38,4)', '-12345678901234567890123456789012.3456', '-12345678901234567890123456789012.3456'],
  ['timestamp without time zone', "'0001-01-01 00:00:00'", '-62135596800000000'], ['timestamp', "'9999-12-31 23:59:59.999999'", '253402300799999999'], ['timestamp(3)', 'null', null],
  ['timestamp with time zone', "'1969-12-31 23:59:59.999999+00'", '-1'], ['timestamptz', "'2023-11-14 22:13:20.123457+00'", '1700000000123457'],
  ['date', "'0001-01-01'", '-719162'], ['date', "'9999-12-31'", '2932896'], ['date', 'null', null],
  ['time without time zone', "'23:59:59.999999'", '86399999999'], ['time', "'00:00:00.000001'", '1'],
  ['uuid', "'00112233-4455-6677-8899-AABBCCDDEEFF'", '00112233-4455-6677-8899-aabbccddeeff'],
  ['bytea', "'\\x00FF80'", '00ff80'], ['bytea', "''", ''], ['text', "''", ''], ['text', "E'\"\\u0001\\\\'", '"\u0001\\'], ['text', 'null', null],
  ['character(3)', "'a'", 'a  '], ['inet', "'10.0.0.1'", '10.0.0.1'], ['integer[]', "'{1,NULL}'", '["1",null]'], ['text[]', "'{}'", '[]'], ['text[]', 'null', null], ['text[]', "E'{\"a,\\\\\"b\"}'", '["a,\\"b"]'],
  ['timestamptz[]', "'{2023-11-14 22:13:20+00}'", '["1700000000000000"]'], ['bytea[]', "array['\\x00ff'::bytea]", '["00ff"]'], ['interval', "'1 day 01:00:00'", '1 day 01:00:00'],
];

describe('canonical text of Postgres values', () => {
  let server: PostgresServer;
  before(async () => { server = await startPostgres(); });
  after(async () => { await server?.destroy(); });

  it('is what the readers give, whatever the zone and styles of the database', async () => {
    const client = new pg.Client({ host: server.host, port: server.port, user: server.user, password: server.password, database: server.database });
    await client.connect();
    try {
      await client.query("set timezone = 'Asia/Kolkata'; set datestyle = 'SQL, DMY'; set intervalstyle = 'iso_8601'; set bytea_output = 'escape'; set extra_float_digits = 0");
      await client.query(CANONICAL_SESSION_SQL);
      for (const [type, value, text] of CASES) {
        const { rows } = await client.query<{ text: string | null }>(`select ${postgresCanonicalSql('A "b"', type)} as text from (select (${value})::${type} as "A ""b""") as t`);
        assert.equal(rows[0]!.text, text, `${type} ${value}`);
      }
      const composite = await client.query<{ text: string | null }>(`select ${postgresCanonicalSql('x', 'public.pair')} as text from (select row(1, null) as x) as t`);
      assert.equal(composite.rows[0]!.text, '(1,)');
      await assert.rejects(client.query(`select ${postgresCanonicalSql('x', 'timestamp')} from (select 'infinity'::timestamp as x) as t`));
    } finally {
      await client.end();
    }
  });
});
