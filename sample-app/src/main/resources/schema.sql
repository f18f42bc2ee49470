-- What the leaders did, for all nodes to see. The lock is for nodes that start at the same moment: PostgreSQL's
-- "if not exists" alone is not safe then.
do $$
begin
  perform pg_advisory_xact_lock(hashtext('leader-election-sample/schema'));
  create table if not exists sample_work (
    id   bigint generated always as identity primary key,
    at   timestamptz not null default clock_timestamp(),
    node text not null,
    term text not null
  );
end
$$
