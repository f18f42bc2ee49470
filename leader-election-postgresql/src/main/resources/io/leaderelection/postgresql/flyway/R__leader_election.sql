-- The tables for leader-election.store=table. Times are informational, except that of a pause, and that the
-- heartbeat keeps nodes with the store advisory-lock from being candidates beside nodes with this one. No lease depends
-- on a clock of the database. Optional are host, pid and since of a node, and the pause.

-- A session of a node. Written once per round: its next versions should fit on its page.
CREATE TABLE IF NOT EXISTS leader_election_node (
  token     pg_catalog.uuid NOT NULL PRIMARY KEY,
  node      varchar(255) NOT NULL,
  host      varchar(255) NOT NULL,
  pid       bigint NOT NULL,
  beat      bigint NOT NULL,                   -- raised by every round
  lease_ms  int NOT NULL,
  since     timestamp with time zone NOT NULL,
  heartbeat timestamp with time zone NOT NULL
) WITH (fillfactor = 50);

-- An election. Changes with a term, never with a round. Transactions of leader work lock its row.
CREATE TABLE IF NOT EXISTS leader_election (
  election     varchar(255) NOT NULL PRIMARY KEY, -- group and name
  term         bigint NOT NULL,                   -- of the last takeover: its transaction id
  timeline     bigint NOT NULL,                   -- of the server at that time
  owner        pg_catalog.uuid,                   -- the session that leads, null while nobody does
  clean        boolean NOT NULL,                  -- free: its work has ended; else: nobody need wait
  since        timestamp with time zone,
  paused_until timestamp with time zone,          -- nobody leads until then, by the clock of the server
  paused_by    varchar(255)
);

-- In which elections a session is a candidate, and the term whose end it requests.
CREATE TABLE IF NOT EXISTS leader_election_candidate (
  election     varchar(255) NOT NULL,
  token        pg_catalog.uuid NOT NULL,
  candidate    boolean NOT NULL,
  profile      varchar(255),                   -- protocol, priority, metadata
  resign_term  bigint,
  resign_cause varchar(255),
  PRIMARY KEY (election, token)
);
