"""What a browser has to load before a page works: one sheet and four scripts, and a limit on all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage
from django.test import Client

from reviewhub.web.squeeze import squeezed
from reviewhub.web.storage import HashedStorage
from tests.cast import Cast
from tests.web.make import waiting

MOST_BYTES = 170_000


def collected(names: set[str], folder: Path) -> dict[str, Path]:
    """These static files as `collectstatic` leaves them: name → the file that is served."""
    files = {name: Path(str(finders.find(name))) for name in names}
    paths = {name: (FileSystemStorage(path.parent), path.name) for name, path in files.items()}
    storage = HashedStorage(location=folder)
    for name, file in files.items():
        storage.save(name, ContentFile(file.read_bytes()))
    served = {name: hashed for name, hashed, _ in storage.post_process(paths) if name in storage.hashed_files}
    return {name: folder / storage.hashed_files[storage.hash_key(name)] for name in served}


@pytest.mark.parametrize("path", ["queue", "requests/{0.number}", "runs/{0.run_id}", "start", "insights"])
def test_sheets_and_scripts_of_a_page_stay_below_their_limit(path: str, cast: Cast, tmp_path: Path) -> None:
    client = Client()
    client.force_login(cast.alice.person)
    page = client.get(f"/northwind/{path.format(waiting(cast.support))}").content.decode()
    names = set(re.findall(r'(?:src|href)="/static/([^"]+\.(?:css|js))"', page))
    assert len(names) >= 5
    sizes = {name: file.stat().st_size for name, file in collected(names, tmp_path).items()}
    assert sizes.keys() == names
    assert sum(sizes.values()) <= MOST_BYTES, sizes


@pytest.mark.parametrize(
    ("written", "served"),
    [
        ("a {\n  color: red;\n  margin: 0 auto;\n}\n", "a{color:red;margin:0 auto}"),
        ("/* it's */ .a > .b, .c {}", ".a > .b,.c{}"),
        (".a :is(.b, .c):hover { top: 0 }", ".a :is(.b,.c):hover{top:0}"),
        ("a { inline-size: calc(1rem + (2px - 1%)) }", "a{inline-size:calc(1rem + (2px - 1%))}"),
        ("@media (width < 64rem) and (hover: none) { }", "@media (width < 64rem) and (hover:none){}"),
        ('a::after { content: " ; /* b */  "; }', 'a::after{content:" ; /* b */  "}'),
        ("a { background: url(a;  b.svg) , red }", "a{background:url(a;  b.svg),red}"),
        (r"a { content: 'it\'s ;  so' }", r"a{content:'it\'s ;  so'}"),
    ],
)
def test_a_sheet_is_squeezed_where_space_means_nothing(written: str, served: str) -> None:
    assert squeezed(written) == served
