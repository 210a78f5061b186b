-- The audit. Numbers have no gaps; the link of each record is computed over its text and the link before it.
create table record (
    number integer primary key,
    at integer not null,
    kind text not null,
    session text,
    verdict text,
    text text not null,
    link blob not null,
    source text,
    sequence integer
);
create index record_session on record (session) where session is not null;
-- What a client shipped before is found by its own number.
create unique index record_shipped on record (source, sequence) where source is not null;

-- Where the chain stands, and the last record that was forgotten: one row.
create table chain (
    one integer primary key check (one = 1),
    number integer not null,
    link blob not null,
    forgotten_number integer not null,
    forgotten_link blob not null
);
insert into chain values (1, 0, zeroblob(32), 0, zeroblob(32));

-- The days of the chain: their first record, and between which moments their records say that they happened.
create table day (day integer primary key, first integer not null, oldest integer not null, newest integer not null);

-- How far each client's shipped records have come.
create table source (name text primary key, next integer not null) without rowid;

create table approval (
    id text primary key,
    state text not null,
    session text not null,
    lead text,
    created_at integer not null,
    expires_at integer not null,
    value text not null
);
create index approval_state on approval (state, created_at);
create index approval_session on approval (session);
create index approval_lead on approval (lead) where lead is not null;

create table session (id text primary key, version integer not null, seen integer not null, value text not null);
create index session_seen on session (seen);

create table token (hash blob primary key, id text not null unique, value text not null) without rowid;

create table secret (
    kind text not null,
    hash blob not null,
    value text not null,
    expires_at integer not null,
    primary key (kind, hash)
) without rowid;

create table value (name text primary key, value text not null) without rowid;
