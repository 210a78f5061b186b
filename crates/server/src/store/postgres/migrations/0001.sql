-- The audit, a partition for each day. Numbers have no gaps; the link of each record is computed over its text and the
-- link before it. Days never decrease along the chain.
create table record (
    number bigint not null,
    day bigint not null,
    at bigint not null,
    kind text not null,
    session text,
    verdict text,
    text text not null,
    link bytea not null,
    source text,
    sequence bigint,
    primary key (number, day)
) partition by range (day);
create index record_session on record (session, number) where session is not null;
-- What a client shipped before is found by its own number.
create index record_shipped on record (source, sequence) where source is not null;

-- Where the chain stands, and the last record that was forgotten: one row. Whoever appends holds it until they commit.
create table chain (
    one integer primary key check (one = 1),
    number bigint not null,
    link bytea not null,
    day bigint not null,
    forgotten_number bigint not null,
    forgotten_link bytea not null
);
insert into chain values (1, 0, decode(repeat('00', 32), 'hex'), -1, 0, decode(repeat('00', 32), 'hex'));

-- The days of the chain: their first record, and between which moments their records say that they happened.
create table day (day bigint primary key, first bigint not null, oldest bigint not null, newest bigint not null);

-- How far each client's shipped records have come.
create table source (name text primary key, next bigint not null);

create table approval (
    id text primary key,
    state text not null,
    session text not null,
    lead text,
    created_at bigint not null,
    expires_at bigint not null,
    value text not null
);
create index approval_state on approval (state, created_at);
create index approval_session on approval (session);
create index approval_lead on approval (lead) where lead is not null;

create table session (id text primary key, version bigint not null, seen bigint not null, value text not null);
create index session_seen on session (seen);

create table token (hash bytea primary key, id text not null unique, value text not null);

create table secret (
    kind text not null,
    hash bytea not null,
    value text not null,
    expires_at bigint not null,
    primary key (kind, hash)
);

create table value (name text primary key, value text not null);
