-- The table for durable schedules (@DurableSchedule), with either store.
-- Only last_fire, cron and zone have an effect. The other columns describe the last run.

CREATE TABLE IF NOT EXISTS leader_election_schedule (
  election    varchar(255) NOT NULL,             -- group and name
  job         varchar(255) NOT NULL,
  last_fire   timestamp with time zone NOT NULL, -- nominal time of the last fire that is done, or when the job began
  cron        pg_catalog.text NOT NULL,          -- a job whose fires are others begins anew
  zone        pg_catalog.text NOT NULL,
  term        varchar(255),                      -- of the leader that ran it last
  node        varchar(255),
  started     timestamp with time zone,
  finished    timestamp with time zone,
  outcome     pg_catalog.text,                   -- running, completed or failed
  PRIMARY KEY (election, job)
) WITH (fillfactor = 50);
