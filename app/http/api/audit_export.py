"""/v1/audit-logs/export: the log as a file, sent while it is made."""

import zlib
from collections.abc import AsyncIterator
from typing import Any

from litestar import Request
from litestar.response import Stream

from app.errors import AgentNotFound, AuditLogDamaged, TooManyStreams
from app.http.answers import accepts_gzip
from app.http.authentication import raw_key_in_use
from app.http.endpoint import endpoint
from app.http.open_streams import require_room_for_stream, while_valid
from app.http.references import with_agent_id
from app.model.api_keys import Caller, Scope
from app.model.audit import AuditFilters, Format
from app.replica import Services

MEDIA = {Format.NDJSON: "application/x-ndjson", Format.CSV: "text/csv"}
_GZIP_LEVEL = 1
_GZIP = 16 + zlib.MAX_WBITS


class ExportQuery(AuditFilters, frozen=True):
    """Which entries to export, and how.

    format: The format of the file.
    """

    format: Format = Format.NDJSON


@endpoint(
    "GET",
    "/v1/audit-logs/export",
    tag="Audit log",
    scopes=(Scope.READ, Scope.VIEW, Scope.AUDIT),
    answer=str,
    media=("application/x-ndjson", "text/csv; charset=utf-8"),
    errors=(AgentNotFound, AuditLogDamaged, TooManyStreams),
    headers={"Content-Disposition": "A name for the file."},
)
async def export_audit_log(
    request: Request[Any, Any, Any], params: ExportQuery, caller: Caller, services: Services
) -> Stream:
    """Export the audit log as a file, oldest first.

    One JSON object per line, or CSV with `format=csv`; compressed if Accept-Encoding names gzip. The last record is
    `{"end": …}`, or a row that begins with `#end`: a file without it is incomplete, because the store became
    unavailable or retention dropped entries still to come; ask again. In CSV, whatever a spreadsheet would run as a
    formula is preceded by an apostrophe.
    """
    raw_key = raw_key_in_use(request)
    params = await with_agent_id(services.records, caller, params)
    require_room_for_stream(request, caller, services.streams)
    pieces = services.log.audit.export(caller.workspace_id, params, params.format)
    pieces = while_valid(services.streams, raw_key, pieces)
    headers = {"Content-Disposition": f'attachment; filename="audit-log.{params.format}"', "Vary": "Accept-Encoding"}
    if accepts_gzip(request.headers.get("accept-encoding", "")):
        pieces = gzipped(pieces)
        headers["Content-Encoding"] = "gzip"
    return Stream(pieces, media_type=MEDIA[params.format], headers=headers)


async def gzipped(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces compressed with gzip; the trailer comes only after the last one."""
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP)
    async for piece in pieces:
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()
