-- The tables for leader-election.store=table.
-- Since is informational. The heartbeat only keeps nodes with the store advisory-lock from being candidates
-- beside a leader in this table. No lease depends on a clock of the database.

CREATE TABLE IF NOT EXISTS leader_election (
  election    varchar(255) NOT NULL PRIMARY KEY, -- group and name
  term        bigint NOT NULL,                   -- of the last takeover: its transaction id
  timeline    bigint NOT NULL,                   -- of the server at that time
  beat        bigint NOT NULL,                   -- changed by every renewal
  lease       bigint NOT NULL,                   -- of the holder, in milliseconds
  holder      varchar(255),                      -- node id, null while nobody holds the lease
  token       pg_catalog.uuid,                   -- of the holder's session
  host        varchar(255),
  pid         bigint,
  since       timestamp with time zone,
  heartbeat   timestamp with time zone,
  resign_term bigint                             -- the term that is asked to end
) WITH (fillfactor = 50);

-- Transactions of leader work lock a row of this table. Only takeovers change it.
CREATE TABLE IF NOT EXISTS leader_election_fence (
  election    varchar(255) NOT NULL PRIMARY KEY,
  term        bigint NOT NULL,                   -- no transaction that has passed the fence in an earlier term is open
  locked      boolean                            -- never used: GRANT UPDATE (locked) permits to lock the row
);

-- A row with many elections is large, and its next versions should fit on its page.
CREATE TABLE IF NOT EXISTS leader_election_candidate (
  session     pg_catalog.uuid NOT NULL PRIMARY KEY,
  node        varchar(255) NOT NULL,
  elections   varchar(255)[] NOT NULL,
  seen        timestamp with time zone NOT NULL,
  profiles    varchar(255)[] NOT NULL DEFAULT '{}' -- in each election: protocol, priority, metadata
) WITH (fillfactor = 10);
