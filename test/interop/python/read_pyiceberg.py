"""PyIceberg."""
from importlib.metadata import version as package_version

from protocol import claim_stdout, serve

ANSWERS = claim_stdout()

import pyarrow as pa  # noqa: E402
from pyiceberg.expressions import AlwaysTrue  # noqa: E402

import canonical  # noqa: E402
from iceberg_access import catalog, load  # noqa: E402


def read(request):
    columns, snapshot = request.get("columns"), request.get("snapshotId")
    scan = load(request["source"]).scan(
        row_filter=request.get("filter") or AlwaysTrue(),
        selected_fields=tuple(columns) if columns is not None else ("*",),
        snapshot_id=int(snapshot) if snapshot else None)
    result = scan.to_arrow()
    return canonical.rows([(name, result.column(name)) for name in columns or result.column_names])


def create(request):
    """Makes a table with two appends through the catalog: the input of the harness's own test. Every column type that has a PyIceberg writer."""
    source = request["source"]
    made = catalog(source)
    made.create_namespace_if_not_exists((source["namespace"],))
    tables = [pa.table({field["name"]: arrow_column(field) for field in part}) for part in request["parts"]]
    table = made.create_table((source["namespace"], source["table"]), schema=tables[0].schema)
    for part in tables:
        table.append(part)
    return {"metadataLocation": table.metadata_location, "location": table.location(), "snapshotIds": [str(s.snapshot_id) for s in table.snapshots()]}


def arrow_column(field):
    """Values as text or numbers in an Arrow type named as pyarrow names it; decimal(p,s), timestamps and the like by cast."""
    kind = ARROW_TYPES[field["type"]] if field["type"] in ARROW_TYPES else pa.type_for_alias(field["type"])
    if field["type"] == "binary":
        return pa.array([None if v is None else bytes.fromhex(v) for v in field["values"]], kind)
    if field["type"] == "uuid":
        return pa.ExtensionArray.from_storage(pa.uuid(), pa.array([None if v is None else bytes.fromhex(v.replace("-", "")) for v in field["values"]], pa.binary(16)))
    if pa.types.is_temporal(kind):
        return pa.array([None if v is None else int(v) for v in field["values"]], pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    if pa.types.is_decimal(kind):
        return pa.array(field["values"], pa.string()).cast(kind)
    if pa.types.is_floating(kind):
        return pa.array([None if v is None else float(v) for v in field["values"]], kind)
    if pa.types.is_map(kind):
        return pa.array([None if v is None else [tuple(pair) for pair in v] for v in field["values"]], kind)
    return pa.array(field["values"], kind)


ARROW_TYPES = {
    "decimal": pa.decimal128(38, 4), "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", "UTC"), "date": pa.date32(), "time": pa.time64("us"),
    "binary": pa.large_binary(), "uuid": pa.uuid(), "list": pa.list_(pa.large_string()), "map": pa.map_(pa.large_string(), pa.int64()),
    "struct": pa.struct([("a", pa.int32()), ("b", pa.large_string())]),
}


def version(_request):
    return f"PyIceberg {package_version('pyiceberg')}, PyArrow {pa.__version__}"


serve(ANSWERS, {"read": read, "create": create, "version": version})
