"""Loads a TableSource (readers/reader.ts) with PyIceberg: afresh each time, nothing is remembered."""
from pyiceberg.catalog import load_catalog
from pyiceberg.table import StaticTable


def settings(source):
    properties = {"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"}
    s3 = source.get("s3")
    if s3 is not None:
        properties |= {"s3.endpoint": s3["endpoint"], "s3.region": s3["region"], "s3.access-key-id": s3["accessKeyId"], "s3.secret-access-key": s3["secretAccessKey"]}
    return properties


def catalog(source):
    return load_catalog("walberg", type="rest", uri=source["uri"], **settings(source))


def load(source):
    if source["kind"] == "path":
        return StaticTable.from_metadata(source["metadataLocation"], settings(source))
    return catalog(source).load_table((source["namespace"], source["table"]))
