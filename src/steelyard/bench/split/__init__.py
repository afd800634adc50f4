"""`oracle.mode: split`: the tests in one sandbox, the candidate in another, plain data between them.

    tester sandbox                         controller                candidate sandbox
    tests -> proxies --unix socket--> bridge ==stdin/stdout==> relay ==stdin/stdout==> worker, hands

    tester     the oracle's files, data files, what setup made; in place of the candidate's modules stand-ins
               (`candidate.py`, and a stub where each of those modules was). No line of the candidate's.
    bridge     our command in the tester: takes connections, passes lines on
    worker     our command in the candidate's sandbox that imports and calls the candidate's code; one for
               each connection, so one for each process of tests. Hostile from the first import on.
    remote_ops our command beside it that runs programs, reads and writes files, asks over HTTP

The wire. Every frame is one JSON object on one line: UTF-8, at most MAX_FRAME bytes, no NaN, no lone surrogates.
A connection of a test process begins with {"hello": 1, "worker": "python" | "node"}. Then it asks, one at a time,
and each ask has exactly one answer:

    {"id": 1, "op": OP, "label": "shop:f", ..., "timeout_s": 5}
                                                  ids count from 1 on each connection; timeout_s may be left out; label is
                                                  the tests' own name for what they ask (`kinds.py`)
    {"id": 1, "ok": ...}                          done
    {"id": 1, "raised": RAISED}                   the candidate's code raised
    {"id": 1, "refused": "why"}                   this cannot cross, or there is no such thing
    {"id": 1, "gone": "why"}                      said by the relay: the candidate died, hung, flooded or lied

    op       fields                                ok
    import   module                                null
    look     of: REF, name, as                     ABOUT
    call     of: REF, args: [V], kwargs: [[name, V]], as   V
    do       what, args: [V], as                   V; an operator (len, iter, getitem, eq, add, str, enter, ...)
    set      of: REF (a handle's), name, value: V  null
    drop     handles: [n]                          null
    reset                                          null; the relay starts a new worker for the next ask
    run      argv, stdin: V, cwd, env, limit_s     {"exit_code", "signal", "timed_out", "stdout": V, "stderr": V}
    start    argv, cwd, env                        {"process": n}
    stop     process                               as run
    read     path                                  V (bytes)
    write    path, data: V                         null
    exists   path                                  bool
    list     path                                  [name, ...]
    http     method, path, body: V, headers: [[name, value]], port, limit_s   {"status", "headers", "body": V}

    The ops up to `drop` are the worker's, those from `run` on those of `remote_ops`. `as` is "data" or "object": may what comes
    back stay there, behind a handle? With "data" it may not, but for the very object whose method was called.

    REF      {"module": "shopcart.money", "path": ["Cart", "total"]} or {"handle": 7, "path": ["total"]}
    ABOUT    {"kind": "data", "value": V} | {"kind": "function", "async": false} | {"kind": "class", "class": [module, name]}
             | {"kind": "exception", "mro", "bases"} | {"kind": "module", "name": "shopcart.money"}
             | {"kind": "module", "names": [...]} (JavaScript: a module, or an export that is an object with functions)
             | {"kind": "object", "value": V (a handle)}
    RAISED   {"mro": [[module, name], ...], "bases": [[1], ...], "args": [V], "text": "...", "attrs": [[name, V]]}
             bases: where in the mro the bases of each class of it are; without it, each has the next one

    V        null, true, "text", 12 (up to 2**53 either way), 0.5, [V, ...] (a list), and {"$": tag, "v": ...}:
             dict [[V, V], ...]   tuple, set, frozenset, iter [V, ...]   bytes, bytearray "base64"
             int "-0x1f" (larger ones)   float "nan" | "inf" | "-inf"   complex [V, V]   range [V, V, V]
             decimal "1.20"   fraction [V, V]   datetime, date, time "ISO 8601"   timedelta [days, s, us]   uuid "..."
             record {"kind": "dataclass" | "namedtuple", "class": [module, name], "fields": [name], "values": [V]}
             handle {"n": 7, "class": [module, name]}, an object that stays where it is; towards the worker {"n": 7}
             ref REF, a function or class of the candidate's as an argument; undefined null (JavaScript)

The receiver of a V parses it strictly, with limits (`inside/candidate/values.py`), into builtins of its own side.

Between bridge and relay each line has the number of its connection before it: `7 {"id": 1, ...}`, and `7 end` when it
is closed. The bridge's first line is {"ready": true}. Each of our programs in a sandbox begins with the first line of its
stdin ({"parts": [[name, source], ...], "config": {...}}) and says {"ready": pid} before it loads anything else.
"""
