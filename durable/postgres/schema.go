package postgres

// schemaVersion is the version of the tables that this package writes. A later version of the
// package states in meta.reader the oldest version that may work at the same time.
const schemaVersion = 3

// migrations[i] leads from version i to i+1.
//
// fillfactor leaves room for claims to update a row on its page, without a change of
// the indexes. Dead rows appear as fast as entries fire: vacuum starts early and does
// not pause. Each table has a primary key: a publication FOR ALL TABLES forbids changes of others.
//
// The sequence witness has the value that is in meta, unless the rows were copied without the values
// of the sequences.
var migrations = [schemaVersion]string{`
CREATE TABLE {s}.meta (id int4 PRIMARY KEY CHECK (id = 1), version int4 NOT NULL, reader int4 NOT NULL, witness int8 NOT NULL);
CREATE SEQUENCE {s}.generation;
CREATE SEQUENCE {s}.removal;
CREATE SEQUENCE {s}.witness;
INSERT INTO {s}.meta SELECT 1, 1, 1, setval({s.witness}, {clock});
CREATE TABLE {s}.worker (id int4 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, until int8 NOT NULL) WITH (fillfactor = 50);
CREATE TABLE {s}.entry (
	slot int8 NOT NULL, generation int8 NOT NULL, due int8 NOT NULL, not_after int8 NOT NULL, origin int8 NOT NULL,
	nonce int8 NOT NULL, holder int4 NOT NULL, checksum int4 NOT NULL, attempt int4 NOT NULL, state int2 NOT NULL,
	key bytea NOT NULL, every bytea NOT NULL, schedule bytea NOT NULL, payload bytea NOT NULL,
	PRIMARY KEY (key, slot)
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0.05,
	autovacuum_vacuum_cost_delay = 0);
CREATE INDEX entry_due ON {s}.entry (due) WHERE holder = 0;
CREATE INDEX entry_holder ON {s}.entry (holder) WHERE holder <> 0;
CREATE TABLE {s}.dead (LIKE {s}.entry, error bytea NOT NULL, given_up int8 NOT NULL, PRIMARY KEY (key, generation));
`, `
SET LOCAL lock_timeout = '1s'; -- calls wait behind this transaction, which waits for a long one
ALTER TABLE {s}.entry ADD COLUMN crashes int2 NOT NULL DEFAULT 0, ADD COLUMN grp bytea NOT NULL DEFAULT '',
	ADD COLUMN headers bytea NOT NULL DEFAULT '', ADD COLUMN last bytea NOT NULL DEFAULT '';
ALTER TABLE {s}.dead ADD COLUMN crashes int2 NOT NULL DEFAULT 0, ADD COLUMN grp bytea NOT NULL DEFAULT '',
	ADD COLUMN headers bytea NOT NULL DEFAULT '', ADD COLUMN last bytea NOT NULL DEFAULT '';
CREATE TABLE {s}.pause (prefix bytea NOT NULL, grp bytea NOT NULL, reason bytea NOT NULL, actor bytea NOT NULL,
	since int8 NOT NULL, PRIMARY KEY (prefix, grp));
UPDATE {s}.meta SET version = 2; -- reader stays 1
`, `
SET LOCAL lock_timeout = '1s';
CREATE TABLE {s}.limits (prefix bytea NOT NULL, grp bytea NOT NULL, running int4 NOT NULL, per_second float8 NOT NULL, burst int4 NOT NULL,
	version int8 NOT NULL, busy int8 NOT NULL DEFAULT 0, PRIMARY KEY (prefix, grp)) WITH (fillfactor = 50);
CREATE TABLE {s}.permit (prefix bytea NOT NULL, grp bytea NOT NULL, worker int4 NOT NULL, held int4 NOT NULL, wants int4 NOT NULL,
	PRIMARY KEY (prefix, grp, worker)) WITH (fillfactor = 50);
ALTER TABLE {s}.worker ADD COLUMN limits int8; -- newest version that the worker knows; NULL of an older release
UPDATE {s}.meta SET version = 3; -- reader stays 1
`}
