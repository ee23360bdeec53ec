"""Blobs in a bucket of Amazon S3, or of anything that speaks its protocol."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store as Bucket

from reviewhub.checkpoints.blobs.protocol import StoreDown, check_keys
from reviewhub.checkpoints.blobs.side_by_side import side_by_side

WRITE_SECONDS = 60.0
_SHOWN = 300


class S3Store:
    """A key is an object below `prefix`.

    Credentials that are not given are looked for as the client does: environment, web identity, the machine's role.

    Args:
        endpoint: the address of a server that is not Amazon's, `https://…`; `http://` is allowed there only.
        seconds: the limit for reading.
    """

    def __init__(
        self,
        bucket: str,
        *,
        prefix: str = "",
        endpoint: str = "",
        region: str = "",
        access_key_id: str = "",
        secret_access_key: str = "",
        seconds: float,
    ) -> None:
        given = {
            "endpoint": endpoint,
            "region": region,
            "access_key_id": access_key_id,
            "secret_access_key": secret_access_key,
        }
        self._seconds = seconds
        self._reading, self._writing = (
            Bucket(
                bucket,
                prefix=prefix or None,
                config={name: value for name, value in given.items() if value},  # type: ignore[arg-type]
                client_options={
                    "timeout": f"{int(limit * 1000)}ms",
                    "connect_timeout": f"{int(seconds * 1000)}ms",
                    "allow_http": endpoint.startswith("http://"),
                },
                retry_config={"max_retries": 0},
            )
            for limit in (seconds, WRITE_SECONDS)
        )

    def get_many(self, keys: Collection[str]) -> dict[str, bytes]:
        """See BlobStore."""
        check_keys(keys)
        found = side_by_side(self._get, keys, seconds=self._seconds)
        return {key: data for key, data in found.items() if data is not None}

    def put_many(self, blobs: Mapping[str, bytes]) -> None:
        """See BlobStore."""
        check_keys(blobs)
        side_by_side(lambda key: self._put(key, blobs[key]), blobs, seconds=WRITE_SECONDS)

    def delete_many(self, keys: Collection[str]) -> None:
        """See BlobStore."""
        check_keys(keys)
        if keys:
            with _answering():
                obstore.delete(self._writing, list(keys))

    def _get(self, key: str) -> bytes | None:
        with _answering():
            try:
                return bytes(obstore.get(self._reading, key).bytes())
            except FileNotFoundError as missing:
                if "NoSuchBucket" in str(missing):
                    raise
                return None

    def _put(self, key: str, data: bytes) -> None:
        with _answering():
            obstore.put(self._writing, key, data, use_multipart=False)


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except (BaseError, OSError) as error:
        # The client's text goes on for pages with what a programmer may want to know.
        raise StoreDown(f"S3: {str(error).partition('Debug source')[0].strip()[:_SHOWN]}") from error
