"""ClickHouse as a library. A process of its own for each read: after a failed query the library hands out its left-over output with the next one."""
import os
import pickle
from urllib.parse import unquote, urlparse

from protocol import claim_stdout, serve

ANSWERS = claim_stdout()

import pyarrow as pa  # noqa: E402
from pyiceberg.types import BinaryType, FixedType, ListType  # noqa: E402

import canonical  # noqa: E402
from iceberg_access import load  # noqa: E402

SETTINGS = {
    # count() without a filter would ignore equality deletes.
    "optimize_trivial_count_query": 0,
    "session_timezone": "UTC",
    # Dates before 1900 or after 2299 fail a query otherwise.
    "date_time_overflow_behavior": "saturate",
    "use_iceberg_metadata_files_cache": 0,
    # Both string and binary are String here; which is which is in the table's schema.
    "output_format_arrow_string_as_string": 0,
}

# Local tables must lie below the working directory.
os.chdir("/")


def literal(value):
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(name):
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def setting(value):
    return str(value) if isinstance(value, int) else literal(value)


def local_path(location):
    return unquote(urlparse(location).path) if location.startswith("file:") else location


def table_function(source, table):
    location, metadata = table.location(), table.metadata_location
    settings = f"SETTINGS iceberg_metadata_file_path = {literal(metadata[metadata.rindex('/metadata/') + 1:])}"
    if location.startswith("s3://"):
        s3 = source["s3"]
        return f"icebergS3({literal(s3['endpoint'] + '/' + location.removeprefix('s3://'))}, {literal(s3['accessKeyId'])}, {literal(s3['secretAccessKey'])}, {settings})"
    return f"icebergLocal({literal(local_path(location))}, {settings})"


def query(sql, settings):
    import chdb
    clause = ", ".join(f"{name} = {setting(value)}" for name, value in settings.items())
    return pa.ipc.open_stream(chdb.query(f"{sql} SETTINGS {clause}", "ArrowStream").bytes()).read_all()


def read(request):
    table = load(request["source"])
    fields = {field.name: field.field_type for field in table.schema().fields}
    columns = request.get("columns")
    snapshot = request.get("snapshotId")
    where = f" WHERE {request['filter']}" if request.get("filter") else ""
    result = query(
        f"SELECT {'*' if columns is None else ', '.join(map(quoted, columns))} FROM {table_function(request['source'], table)}{where}",
        SETTINGS | ({"iceberg_snapshot_id": int(snapshot)} if snapshot else {}))
    return canonical.rows([(name, result.column(i) if holds_bytes(fields[name]) else as_text(result.column(i)))
                           for i, name in enumerate(result.column_names)])


def holds_bytes(kind):
    return holds_bytes(kind.element_type) if isinstance(kind, ListType) else isinstance(kind, (BinaryType, FixedType))


def as_text(column):
    kind = text_type(column.type)
    return column if kind == column.type else column.cast(kind)


def text_type(kind):
    """The type with every binary in it replaced by string."""
    if pa.types.is_binary(kind):
        return pa.string()
    if pa.types.is_map(kind):
        return pa.map_(text_type(kind.key_type), kind.item_field.with_type(text_type(kind.item_type)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(text_type(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([kind.field(i).with_type(text_type(kind.field(i).type)) for i in range(kind.num_fields)])
    return kind


def isolated(operation):
    """Runs the operation in a forked process; its refusal is raised here under its own class name."""
    def run(request):
        mine, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            with os.fdopen(theirs, "wb") as out:
                try:
                    answer = (None, operation(request))
                except Exception as error:
                    answer = ((type(error).__name__, str(error)), None)
                pickle.dump(answer, out)
            os._exit(0)
        os.close(theirs)
        with os.fdopen(mine, "rb") as answers:
            said = answers.read()
        _, status = os.waitpid(child, 0)
        if not said:
            raise RuntimeError(f"ClickHouse ended with {os.waitstatus_to_exitcode(status)}")
        refusal, result = pickle.loads(said)
        if refusal is not None:
            raise type(refusal[0], (Exception,), {})(refusal[1])
        return result
    return run


def version(_request):
    found = query("SELECT version()", SETTINGS).column(0)[0].as_py()
    return f"ClickHouse {found.decode()}"


serve(ANSWERS, {"read": isolated(read), "version": isolated(version)})
