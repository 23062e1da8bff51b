"""DuckDB with its Iceberg extension. A fresh database for each read: no metadata or file is remembered from the read before."""
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlparse

from protocol import claim_stdout, serve

ANSWERS = claim_stdout()

import duckdb  # noqa: E402

import canonical  # noqa: E402

EXTENSIONS = ("icu", "avro", "httpfs", "iceberg")


def connect():
    # The extensions come with the Python packages; nothing is looked for on an extension server.
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "threads": "1"})
    for name in EXTENSIONS:
        folder = Path(find_spec(f"duckdb_extension_{name}").origin).parent
        connection.execute(f"LOAD {literal(folder / 'extensions' / f'v{duckdb.__version__}' / f'{name}.duckdb_extension')}")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def literal(value):
    return "'" + str(value).replace("'", "''") + "'"


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def read(request):
    source, snapshot = request["source"], request.get("snapshotId")
    connection = connect()
    try:
        s3 = source.get("s3")
        if s3 is not None:
            endpoint = urlparse(s3["endpoint"])
            connection.execute(
                f"CREATE SECRET (TYPE s3, KEY_ID {literal(s3['accessKeyId'])}, SECRET {literal(s3['secretAccessKey'])}, REGION {literal(s3['region'])}, "
                f"ENDPOINT {literal(endpoint.netloc)}, USE_SSL {str(endpoint.scheme == 'https').lower()}, URL_STYLE 'path')")
        if source["kind"] == "rest":
            connection.execute(f"ATTACH '' AS cat (TYPE iceberg, ENDPOINT {literal(source['uri'])}, AUTHORIZATION_TYPE 'none')")
            table = f"cat.{quoted(source['namespace'])}.{quoted(source['table'])}" + (f" AT (VERSION => {int(snapshot)})" if snapshot else "")
        else:
            metadata = source["metadataLocation"].removeprefix("file://")
            table = f"iceberg_scan({literal(metadata)}" + (f", snapshot_from_id => {int(snapshot)})" if snapshot else ")")
        columns = request.get("columns")
        select = "*" if columns is None else ", ".join(map(quoted, columns))
        where = f" WHERE {request['filter']}" if request.get("filter") else ""
        result = connection.execute(f"SELECT {select} FROM {table}{where}").to_arrow_table()
        return canonical.rows([(name, result.column(i)) for i, name in enumerate(result.column_names)])
    finally:
        connection.close()


def version(_request):
    connection = connect()
    found = dict(connection.execute("SELECT extension_name, extension_version FROM duckdb_extensions() WHERE loaded").fetchall())
    connection.close()
    return f"DuckDB {duckdb.__version__}, iceberg extension {found['iceberg']}"


serve(ANSWERS, {"read": read, "version": version})
