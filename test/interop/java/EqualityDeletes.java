import java.io.IOException;
import java.util.List;
import java.util.UUID;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.encryption.EncryptedFiles;
import org.apache.iceberg.types.Conversions;

/** Equality deletes by Iceberg's own library: Spark SQL reads them but never writes them. */
public final class EqualityDeletes {
  private EqualityDeletes() {}

  /** One delete file for one column of an unpartitioned table; values as text, null deletes NULLs. */
  public static void commit(Table table, String column, List<String> values) throws IOException {
    Schema key = table.schema().select(column);
    int[] fields = {key.findField(column).fieldId()};
    GenericAppenderFactory factory = new GenericAppenderFactory(table.schema(), table.spec(), fields, key, null);
    String location = table.locationProvider().newDataLocation(UUID.randomUUID() + "-deletes.parquet");
    EqualityDeleteWriter<Record> writer =
        factory.newEqDeleteWriter(EncryptedFiles.plainAsEncryptedOutput(table.io().newOutputFile(location)), FileFormat.PARQUET, null);
    try (writer) {
      for (String value : values) {
        Record record = GenericRecord.create(key);
        record.setField(column, Conversions.fromPartitionString(key.findType(column), value));
        writer.write(record);
      }
    }
    table.newRowDelta().addDeletes(writer.toDeleteFile()).commit();
  }
}
