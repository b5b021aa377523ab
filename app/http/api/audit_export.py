"""/v1/audit-logs/export: the log as a file, sent while it is made."""

import zlib
from collections.abc import AsyncIterator
from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency as Handed
from litestar.response import Stream

from app.http.api.audit_log import ALIASES, FILTERS, settled_query
from app.http.authentication import raw_key_of, requires
from app.http.open_streams import require_room_for_stream, while_valid
from app.http.queries import Query
from app.model.api_keys import Caller, Scope
from app.model.audit import Format
from app.replica import Services

MEDIA = {Format.NDJSON: "application/x-ndjson", Format.CSV: "text/csv"}
_GZIP_LEVEL = 1
_GZIP = 16 + zlib.MAX_WBITS


@get("/v1/audit-logs/export", guards=[requires(Scope.READ, Scope.AUDIT)])
async def export_audit_log(
    request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> Stream:
    """Every matching entry, oldest first. The last record marks the end: a file without it is incomplete."""
    query = Query(request, known=(*FILTERS, "format"), aliases=ALIASES)
    kind = Format(query.choice("format", [each.value for each in Format]) or Format.NDJSON)
    raw_key = raw_key_of(request.headers.get("authorization", "").encode("latin-1"))
    wanted = await settled_query(services, caller, query)
    require_room_for_stream(request, caller, services)
    pieces = services.audit.export(caller.workspace_id, wanted, kind)
    pieces = while_valid(services, raw_key, pieces)
    headers = {"Content-Disposition": f'attachment; filename="audit-log.{kind}"', "Vary": "Accept-Encoding"}
    if accepts_gzip(request.headers.get("accept-encoding", "")):
        pieces = gzipped(pieces)
        headers["Content-Encoding"] = "gzip"
    return Stream(pieces, media_type=MEDIA[kind], headers=headers)


def accepts_gzip(header: str) -> bool:
    """Whether an Accept-Encoding names gzip, with any weight but 0."""
    for each in header.lower().split(","):
        name, _, weight = each.partition(";")
        if name.strip() in {"gzip", "*"}:
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


async def gzipped(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces compressed with gzip; the trailer comes only after the last one."""
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP)
    async for piece in pieces:
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()
