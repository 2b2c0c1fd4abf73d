"""The ledger's tables, version 4. Times are milliseconds since 1970 in UTC."""

from collections.abc import Mapping
from types import MappingProxyType

APPLICATION_ID = 0x46524D58
"""`FRMX`: tells a ledger from any other database."""

SCHEMA_VERSION = 4

_MOVES = (
    """CREATE TABLE moves(
        old TEXT PRIMARY KEY, new TEXT NOT NULL, waiting INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID""",
    "CREATE INDEX moves_waiting ON moves(old) WHERE waiting=1",
)
"""Chats (routes without a thread) that have another id by now; `waiting`: conversations are still to be joined."""

_MEDIA = (
    """CREATE TABLE gone(
        chat TEXT PRIMARY KEY, error TEXT NOT NULL, since INTEGER NOT NULL) STRICT, WITHOUT ROWID""",
    "ALTER TABLE outbox ADD COLUMN blob TEXT",
    "CREATE INDEX outbox_blob ON outbox(blob) WHERE blob IS NOT NULL",
    "CREATE INDEX media_blob ON media(blob) WHERE blob IS NOT NULL",
)
"""Chats that are none of ours any more; and by the file that they hold: parts, attachments."""

_PREPARED = (
    "ALTER TABLE media ADD COLUMN size_bytes INTEGER",
    "ALTER TABLE media ADD COLUMN mime_type TEXT",
    "ALTER TABLE media ADD COLUMN width INTEGER",
    "ALTER TABLE media ADD COLUMN height INTEGER",
    "ALTER TABLE media ADD COLUMN language TEXT",
    "ALTER TABLE media ADD COLUMN kind TEXT",
    "ALTER TABLE media ADD COLUMN limit_bytes INTEGER",
    "CREATE INDEX media_waiting ON media(message,position) WHERE state='waiting'",
)
"""What is known of an attachment that was prepared, or could not be; and a short way to those that wait."""

_SHOWN = (
    """CREATE TABLE entry_pictures(
        blob TEXT NOT NULL, entry INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
        PRIMARY KEY(blob,entry)) STRICT, WITHOUT ROWID""",
    "CREATE INDEX entry_pictures_entry ON entry_pictures(entry)",
)
"""By the file that holds it: pictures in the history."""

STATEMENTS = (
    """CREATE TABLE runtime(
        one INTEGER PRIMARY KEY CHECK(one=1), epoch INTEGER NOT NULL, instance TEXT NOT NULL,
        boot TEXT NOT NULL, clean INTEGER NOT NULL) STRICT""",
    """CREATE TABLE lanes(
        lane INTEGER PRIMARY KEY, channel TEXT NOT NULL, window INTEGER NOT NULL DEFAULT 0,
        revision INTEGER NOT NULL DEFAULT 0, generation INTEGER NOT NULL DEFAULT 0,
        served INTEGER NOT NULL DEFAULT 0, title TEXT, archived INTEGER NOT NULL DEFAULT 0) STRICT""",
    "CREATE INDEX lanes_served ON lanes(served)",
    """CREATE TABLE routes(
        route TEXT PRIMARY KEY, lane INTEGER NOT NULL REFERENCES lanes) STRICT, WITHOUT ROWID""",
    "CREATE INDEX routes_lane ON routes(lane)",
    """CREATE TABLE turns(
        turn INTEGER PRIMARY KEY AUTOINCREMENT, lane INTEGER NOT NULL REFERENCES lanes, channel TEXT NOT NULL,
        state TEXT NOT NULL CHECK(state IN('collecting','queued','started','unknown','settled')),
        outcome TEXT CHECK(outcome IN('completed','failed','interrupted','rejected','cancelled')),
        album TEXT, collect_until INTEGER, awaited INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0, epoch INTEGER, generation INTEGER, window INTEGER, snapshot TEXT,
        created_at INTEGER NOT NULL, settled_at INTEGER,
        CHECK((state='settled')=(outcome IS NOT NULL)),
        CHECK((state='collecting')=(collect_until IS NOT NULL))) STRICT""",
    "CREATE UNIQUE INDEX turns_active ON turns(lane) WHERE state IN('started','unknown')",
    "CREATE UNIQUE INDEX turns_album ON turns(lane,album) WHERE state='collecting'",
    "CREATE INDEX turns_waiting ON turns(lane,turn) WHERE state IN('collecting','queued')",
    "CREATE INDEX turns_queue ON turns(turn) WHERE state='queued'",
    """CREATE TABLE messages(
        message INTEGER PRIMARY KEY AUTOINCREMENT, origin TEXT NOT NULL, key TEXT NOT NULL,
        digest BLOB NOT NULL, lane INTEGER NOT NULL REFERENCES lanes, turn INTEGER REFERENCES turns,
        kind TEXT NOT NULL CHECK(kind IN('input','command','context')), trust TEXT NOT NULL,
        sender TEXT NOT NULL, target TEXT, reply_to TEXT, body TEXT, edited INTEGER NOT NULL DEFAULT 0,
        done INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL, received_at INTEGER NOT NULL,
        UNIQUE(origin,key)) STRICT""",
    "CREATE INDEX messages_turn ON messages(turn)",
    "CREATE INDEX messages_undone ON messages(message) WHERE kind='command' AND done=0",
    """CREATE TABLE media(
        message INTEGER NOT NULL REFERENCES messages, position INTEGER NOT NULL, reference TEXT NOT NULL,
        state TEXT NOT NULL CHECK(state IN('waiting','ready','failed')), attempts INTEGER NOT NULL DEFAULT 0,
        blob TEXT, transcript TEXT, error TEXT, PRIMARY KEY(message,position)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE effects(
        turn INTEGER NOT NULL REFERENCES turns, generation INTEGER NOT NULL, step INTEGER NOT NULL,
        name TEXT NOT NULL, repeat TEXT NOT NULL CHECK(repeat IN('adopt','text','unsafe')),
        intent TEXT NOT NULL, outcome TEXT, PRIMARY KEY(turn,generation,step)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE outbox(
        part INTEGER PRIMARY KEY AUTOINCREMENT, turn INTEGER REFERENCES turns, ordinal INTEGER NOT NULL,
        notice TEXT UNIQUE, origin TEXT NOT NULL, target TEXT NOT NULL, reply_to TEXT, body TEXT,
        nonce TEXT NOT NULL,
        state TEXT NOT NULL CHECK(state IN('pending','sending','sent','failed','withdrawn')),
        repeated INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, due_at INTEGER NOT NULL,
        platform_id TEXT, error TEXT, generation INTEGER, step INTEGER, epoch INTEGER,
        created_at INTEGER NOT NULL, tried_at INTEGER, UNIQUE(turn,ordinal)) STRICT""",
    "CREATE INDEX outbox_open ON outbox(target,part) WHERE state IN('pending','sending')",
    """CREATE TABLE entries(
        entry INTEGER PRIMARY KEY AUTOINCREMENT, lane INTEGER NOT NULL REFERENCES lanes,
        window INTEGER NOT NULL, turn INTEGER REFERENCES turns ON DELETE SET NULL, role TEXT NOT NULL,
        trust TEXT, content TEXT NOT NULL) STRICT""",
    "CREATE INDEX entries_lane ON entries(lane,window,entry)",
    "CREATE INDEX entries_turn ON entries(turn)",
    """CREATE TABLE cursors(
        origin TEXT NOT NULL, scope TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY(origin,scope)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE receipts(
        principal TEXT NOT NULL, request TEXT NOT NULL, digest BLOB NOT NULL, result TEXT NOT NULL,
        created_at INTEGER NOT NULL, PRIMARY KEY(principal,request)) STRICT, WITHOUT ROWID""",
    *_MOVES,
    *_MEDIA,
    *_PREPARED,
    *_SHOWN,
)

UPGRADES: Mapping[int, tuple[str, ...]] = MappingProxyType({1: _MOVES, 2: _MEDIA, 3: (*_PREPARED, *_SHOWN)})
"""By version: what makes the tables of the next one of them."""
