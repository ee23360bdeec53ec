"""Opens the blob stores that settings name: `BLOB_STORES=name=address,…`. Moves go to the first, all are read."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.conf import settings

from reviewhub.checkpoints.blobs.database import DatabaseStore
from reviewhub.checkpoints.blobs.files import FileStore
from reviewhub.checkpoints.blobs.protocol import BlobStore, StoreDown
from reviewhub.checkpoints.blobs.redis import RedisStore
from reviewhub.checkpoints.models import LARGE_BYTES
from reviewhub.env import BadSetting, text

_NAME = re.compile(r"[0-9a-z-]{1,40}")
_S3_OPTIONS = {"endpoint", "region"}


def check_settings() -> None:
    """Called at the start of every program; asks no store anything, since one that is down stops no start.

    Raises:
        BadSetting: naming the variable and what is wrong, without credentials.
    """
    for name, url in settings.BLOB_STORES.items():
        if not _NAME.fullmatch(name):
            raise BadSetting(f"BLOB_STORES: the name {name!r} needs 1 to 40 of 0-9 a-z -")
        open_store(url)
    if settings.BLOB_LARGE_BYTES < LARGE_BYTES:
        raise BadSetting(f"BLOB_LARGE_BYTES={settings.BLOB_LARGE_BYTES} is less than {LARGE_BYTES}")
    if settings.BLOB_TIMEOUT_SECONDS < 1:
        raise BadSetting(f"BLOB_TIMEOUT_SECONDS={settings.BLOB_TIMEOUT_SECONDS} is less than 1")


def first_name() -> str | None:
    """The store that blobs go to; None when they all stay in the database."""
    return next(iter(settings.BLOB_STORES), None)


def store(name: str) -> BlobStore:
    """The store of that name. Raises StoreDown when settings name none."""
    url = settings.BLOB_STORES.get(name)
    if url is None:
        raise StoreDown(f"BLOB_STORES names no store {name!r}")
    return _opened(url)


def shown(url: str) -> str:
    """An address without what is secret in it."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl()


def open_store(url: str) -> BlobStore:
    """The store at an address; nothing is sent to it yet. Raises BadSetting for an address of no store."""
    parts = urlsplit(url)
    seconds = float(settings.BLOB_TIMEOUT_SECONDS)
    match parts.scheme:
        case "database" if url == "database:":
            return DatabaseStore()
        case "file" if parts.path.startswith("/") and not parts.netloc and not parts.query:
            return FileStore(Path(unquote(parts.path)), seconds=seconds)
        case "redis" | "rediss" | "valkey" | "valkeys" if parts.hostname:
            return _redis(parts, seconds)
        case "s3" if parts.hostname and not parts.username:
            return _s3(parts, seconds)
    raise BadSetting(
        f"BLOB_STORES: {shown(url)!r} is none of database:, file:///folder, redis://host:port/number and"
        " s3://bucket/prefix?endpoint=…&region=… (credentials of S3: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"
    )


_opened = lru_cache(open_store)


def _redis(parts: SplitResult, seconds: float) -> BlobStore:
    scheme = parts.scheme.replace("valkeys", "rediss").replace("valkey", "redis")
    try:
        return RedisStore(parts._replace(scheme=scheme).geturl(), seconds=seconds)
    except (ValueError, TypeError):
        raise BadSetting(f"BLOB_STORES: {shown(parts.geturl())!r} cannot be read") from None


def _s3(parts: SplitResult, seconds: float) -> BlobStore:
    # Its client is large, and most installations have no bucket.
    from reviewhub.checkpoints.blobs.s3 import S3Store

    options = dict(parse_qsl(parts.query))
    if unknown := options.keys() - _S3_OPTIONS:
        raise BadSetting(
            f"BLOB_STORES: {shown(parts.geturl())!r} has unknown options: {', '.join(sorted(unknown))}"
        )
    return S3Store(
        parts.netloc,
        prefix=unquote(parts.path.strip("/")),
        endpoint=options.get("endpoint", ""),
        region=options.get("region", ""),
        access_key_id=text("AWS_ACCESS_KEY_ID"),
        secret_access_key=text("AWS_SECRET_ACCESS_KEY"),
        seconds=seconds,
    )
