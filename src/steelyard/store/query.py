"""Which runs, in which order, how many: `Query` -> conditions on the index.

Query(contract="widgets-*", verdicts=("fail",), since=datetime(...), sort="cost_usd", descending=True, limit=50)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

import sqlalchemy as sa

from steelyard.errors import OperatorFault
from steelyard.store.schema import RUNS, TAGS

SORTS = ("started", "contract", "agent", "state", "judge", "score", "reward", "cost_usd", "wall_s")
_MOST_NAMES = 30_000  # values that one statement may have
_MAGIC = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Query:
    """Every condition holds; without any, all runs. `contract`, `agent` and `tag` are patterns as of a shell."""

    contract: str | None = None
    agent: str | None = None
    verdicts: Sequence[str] = ()
    judge: Sequence[str] = ()  # what the judge said; "" where it was not asked
    search: str = ""  # a part of the run's name, of the contract's, of the agent's or of a tag, in any case
    tag: str | None = None
    study: str | None = None  # a name, or the beginning of a digest
    trial: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    sort: str = "started"
    descending: bool = False
    limit: int | None = None
    offset: int = 0


def conditions(query: Query, root: int, connection: sa.Connection) -> list[sa.ColumnElement[bool]]:
    """What rows of the index must fulfil."""
    found: list[sa.ColumnElement[bool]] = [RUNS.c.root == root]
    for column, pattern in ((RUNS.c.contract, query.contract), (RUNS.c.agent, query.agent)):
        if pattern is not None:
            found.append(_matches(column, pattern, root, connection))
    if query.verdicts:
        found.append(RUNS.c.state.in_(list(query.verdicts)))
    found += [_judge_filter(query.judge)] if query.judge else []
    found += [_contains(query.search, root)] if query.search else []
    if query.tag is not None:
        found.append(RUNS.c.id.in_(_tag(query.tag, root, connection)))
    if query.study is not None:
        found.append(_in_study(query.study, root, connection))
    if query.trial is not None:
        found.append(RUNS.c.trial == query.trial)
    if query.since is not None:
        found.append(RUNS.c.started >= query.since.timestamp())
    if query.until is not None:
        found.append(RUNS.c.started < query.until.timestamp())
    return found


def order(query: Query) -> list[sa.ColumnElement[object]]:
    """By one column, then by the run's name, which begins with the time; runs without a value come last."""
    if query.sort not in SORTS:
        raise OperatorFault(f"--sort {query.sort}: there are {', '.join(SORTS)}")
    column = RUNS.c[query.sort]
    ends = (column.desc(), RUNS.c.run.desc()) if query.descending else (column.asc(), RUNS.c.run.asc())
    if query.sort in {"started", "contract", "agent", "state"}:  # never null
        return list(ends)
    return [column.is_(None), *ends]


def _judge_filter(words: Sequence[str]) -> sa.ColumnElement[bool]:
    asked = RUNS.c.judge.in_([word for word in words if word])
    return sa.or_(asked, RUNS.c.judge.is_(None)) if "" in words else asked


def _contains(text: str, root: int) -> sa.ColumnElement[bool]:
    columns = (RUNS.c.run, RUNS.c.contract, RUNS.c.agent)
    named = [sa.func.lower(column).contains(text.lower(), autoescape=True) for column in columns]
    tagged = sa.select(TAGS.c.id).where(
        TAGS.c.root == root, sa.func.lower(TAGS.c.tag).contains(text.lower(), autoescape=True)
    )
    return sa.or_(*named, RUNS.c.id.in_(tagged))


def _matches(
    column: sa.Column[str], pattern: str, root: int, connection: sa.Connection
) -> sa.ColumnElement[bool]:
    """Patterns are matched here, over the distinct values: databases have different ideas of a pattern."""
    if not _MAGIC & set(pattern):
        return column == pattern
    values = connection.execute(sa.select(column).where(RUNS.c.root == root).distinct()).scalars()
    return _one_of(column, (value for value in values if fnmatchcase(value, pattern)))


def _one_of(column: sa.Column[str], values: Iterable[str]) -> sa.ColumnElement[bool]:
    names = list(values)
    if len(names) > _MOST_NAMES:
        raise OperatorFault(f"the pattern matches {len(names)} names; write more of it")
    return column.in_(names)


def _tag(pattern: str, root: int, connection: sa.Connection) -> sa.Select[tuple[int]]:
    of_root = TAGS.c.root == root
    if not _MAGIC & set(pattern):
        return sa.select(TAGS.c.id).where(of_root, TAGS.c.tag == pattern)
    tags = connection.execute(sa.select(TAGS.c.tag).where(of_root).distinct()).scalars()
    return sa.select(TAGS.c.id).where(
        of_root, _one_of(TAGS.c.tag, (tag for tag in tags if fnmatchcase(tag, pattern)))
    )


def _in_study(study: str, root: int, connection: sa.Connection) -> sa.ColumnElement[bool]:
    """By digest, because the summaries' index begins with it. Digits may be the beginning of one, compared as a range."""
    named = sa.select(RUNS.c.study).where(RUNS.c.root == root, RUNS.c.study_name == study).distinct()
    digests = [one for one in connection.execute(named).scalars() if one is not None]
    if study and not set(study) - set("0123456789abcdef"):
        begins = sa.and_(RUNS.c.study >= study, RUNS.c.study < f"{study}g")
        digests += [
            one
            for one in connection.execute(
                sa.select(RUNS.c.study).where(RUNS.c.root == root, begins).distinct()
            ).scalars()
            if one is not None
        ]
    return RUNS.c.study.in_(sorted(set(digests)))
