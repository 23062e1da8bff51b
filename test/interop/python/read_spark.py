"""Spark with Iceberg's own runtime; one session for the life of the process. Iceberg's table cache is off, so that each read sees the newest state."""
import json
import os

from protocol import claim_stdout, serve

ANSWERS = claim_stdout()
os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-class-path {os.environ['WALBERG_SPARK_CLASS_PATH']} pyspark-shell"
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

from pyspark.sql import SparkSession, functions  # noqa: E402

import canonical  # noqa: E402

SPARK = (
    SparkSession.builder.master("local[1]").appName("walberg")
    .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.memory", "1g")
    .config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC -Duser.timezone=UTC")
    .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config("spark.sql.catalog.spark_catalog.type", "hadoop").config("spark.sql.catalogImplementation", "in-memory")
    .getOrCreate())
SPARK.sparkContext.setLogLevel("ERROR")

CATALOGS = {}
REGISTERED = 0


def catalog(source):
    """Name of a Spark catalog for the source. A path source gets one in memory that tables are registered in by metadata file: Spark cannot load a metadata file otherwise."""
    s3 = source.get("s3")
    # Resolves each location by its scheme: S3 client for s3://, Hadoop's file system for paths and file:// URIs.
    settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".cache-enabled": "false", ".io-impl": "org.apache.iceberg.io.ResolvingFileIO"}
    if source["kind"] == "rest":
        settings |= {".type": "rest", ".uri": source["uri"]}
    else:
        # One connection: each would have a memory of its own.
        settings |= {".catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", ".uri": "jdbc:sqlite::memory:", ".jdbc.schema-version": "V1", ".clients": "1", ".warehouse": "/nowhere"}
    if s3 is not None:
        settings |= {".s3.endpoint": s3["endpoint"], ".s3.path-style-access": "true", ".s3.access-key-id": s3["accessKeyId"],
                     ".s3.secret-access-key": s3["secretAccessKey"], ".client.region": s3["region"]}
    key = json.dumps(settings, sort_keys=True)
    if key not in CATALOGS:
        name = f"cat{len(CATALOGS)}"
        for setting, value in settings.items():
            SPARK.conf.set(f"spark.sql.catalog.{name}{setting}", value)
        if source["kind"] == "path":
            SPARK.sql(f"CREATE NAMESPACE {name}.paths")
        CATALOGS[key] = name
    return CATALOGS[key]


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def identifier(source):
    global REGISTERED
    name = catalog(source)
    if source["kind"] == "rest":
        return f"{name}.{quoted(source['namespace'])}.{quoted(source['table'])}"
    REGISTERED += 1
    metadata = source["metadataLocation"].replace("\\", "\\\\").replace("'", "\\'")
    SPARK.sql(f"CALL {name}.system.register_table(table => 'paths.t{REGISTERED}', metadata_file => '{metadata}')").collect()
    return f"{name}.paths.t{REGISTERED}"


def read(request):
    reader = SPARK.read
    if request.get("snapshotId"):
        reader = reader.option("snapshot-id", request["snapshotId"])
    frame = reader.table(identifier(request["source"]))
    if request.get("filter"):
        frame = frame.where(request["filter"])
    if request.get("columns") is not None:
        frame = frame.select([functions.col(quoted(name)) for name in request["columns"]])
    return table_of(frame)


def table_of(frame):
    names, rows = frame.columns, []
    # Arrow instead of collect(): Python's datetime cannot hold the first and last days of the calendar.
    for batch in frame._collect_as_arrow():
        rows += canonical.rows([(name, batch.column(i)) for i, name in enumerate(names)])[1]
    return names, rows


def sql(request):
    """Any statement; `{catalog}` stands for the source's catalog, `{table}` for its table."""
    source = request["source"]
    statement = request["statement"].replace("{catalog}", catalog(source))
    if "{table}" in statement:
        statement = statement.replace("{table}", identifier(source))
    return table_of(SPARK.sql(statement))


def delete_by_equality(request):
    """Commits one equality delete file with Iceberg's Java library, which no SQL statement of Spark writes."""
    jvm = SPARK._jvm
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(SPARK._jsparkSession, identifier(request["source"]))
    values = jvm.java.util.ArrayList()
    for value in request["values"]:
        values.append(value)
    jvm.EqualityDeletes.commit(table, request["column"], values)


def audit(request):
    jvm = SPARK._jvm
    return list(jvm.TableAudit.of(jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(SPARK._jsparkSession, identifier(request["source"]))))


def version(_request):
    return f"Spark {SPARK.version}, Iceberg {SPARK._jvm.org.apache.iceberg.IcebergBuild.version()}"


serve(ANSWERS, {"read": read, "sql": sql, "deleteByEquality": delete_by_equality, "audit": audit, "version": version})
