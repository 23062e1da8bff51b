import type { ComparedTable } from './compare.js';
import { filePath } from '../storage/file-location.js';

/** One line for each of four engines that opens a table of the demo. */
export function openLines(warehouse: string, tables: readonly ComparedTable[]): string[] {
  const orders = tables.find((t) => t.name === 'shop.orders') ?? tables[0];
  const plain = tables.find((t) => !t.hasEqualityDeletes);
  const folder = filePath(warehouse);
  const metadata = filePath(orders.metadataLocation);
  const [namespace, table] = orders.name.split('.');
  return [
    `DuckDB      duckdb -c "INSTALL iceberg; LOAD iceberg; SELECT status, count(*) FROM iceberg_scan('${quoted(metadata)}') GROUP BY ALL"`,
    `ClickHouse  cd "${folder}" && clickhouse local -q "SELECT status, count() FROM icebergLocal('${quoted(folder)}/${namespace}/${table}') GROUP BY ALL"`,
    `Spark       spark-sql --packages ${SPARK_RUNTIME} --conf spark.sql.catalog.demo=org.apache.iceberg.spark.SparkCatalog --conf spark.sql.catalog.demo.type=hadoop --conf "spark.sql.catalog.demo.warehouse=file://${folder}" -e "SELECT status, count(*) FROM demo.${orders.name} GROUP BY 1"`,
    pyIceberg(plain),
  ];
}

const SPARK_RUNTIME = 'org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.11.0';

/** PyIceberg has no equality deletes, so it opens tables whose rows were only added, and others once they are compacted. */
function pyIceberg(plain: ComparedTable | undefined): string {
  const limit = 'PyIceberg does not read equality deletes';
  if (plain === undefined) return `PyIceberg   ${limit}: compact these tables first (Spark: CALL demo.system.rewrite_data_files)`;
  return `PyIceberg   python -c "from pyiceberg.table import StaticTable; print(StaticTable.from_metadata('${quoted(plain.metadataLocation)}').scan().count())"   (${plain.name} only: ${limit})`;
}

const quoted = (text: string): string => text.replaceAll("'", "''");
