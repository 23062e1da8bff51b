import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.CloseableIterable;

/** Reads everything that a table consists of with Iceberg's own library and lists what contradicts itself. */
public final class TableAudit {
  private final Table table;
  private final List<String> problems = new ArrayList<>();
  private final Map<String, Counts> manifests = new HashMap<>();

  private TableAudit(Table table) {
    this.table = table;
  }

  /** First what was read, as "n snapshots, n manifests, n files planned"; then one text for each problem. */
  public static List<String> of(Table table) throws IOException {
    TableAudit audit = new TableAudit(table);
    int snapshots = audit.snapshots();
    int planned = table.currentSnapshot() == null ? 0 : audit.plan(table.currentSnapshot());
    audit.problems.add(0, snapshots + " snapshots, " + audit.manifests.size() + " manifests, " + planned + " files planned");
    return audit.problems;
  }

  /** Live files of one manifest by what they hold. */
  private static final class Counts {
    final long[] files = new long[FileContent.values().length];
    final long[] records = new long[FileContent.values().length];
    long bytes;
    long newest;

    void add(Counts other) {
      for (int content = 0; content < files.length; content++) {
        files[content] += other.files[content];
        records[content] += other.records[content];
      }
      bytes += other.bytes;
      newest = Math.max(newest, other.newest);
    }
  }

  private int snapshots() throws IOException {
    long last = 0;
    int count = 0;
    for (Snapshot snapshot : table.snapshots()) {
      count++;
      String name = "snapshot " + snapshot.sequenceNumber();
      if (snapshot.sequenceNumber() <= last) problem(name + " follows " + last);
      last = snapshot.sequenceNumber();
      Snapshot parent = snapshot.parentId() == null ? null : table.snapshot(snapshot.parentId());
      if (parent != null && parent.sequenceNumber() >= snapshot.sequenceNumber()) problem(name + " is not after its parent");
      Counts live = new Counts();
      for (ManifestFile manifest : snapshot.allManifests(table.io())) {
        if (manifest.sequenceNumber() > snapshot.sequenceNumber()) problem(name + ": a manifest is newer");
        live.add(countsOf(manifest));
      }
      if (live.newest > snapshot.sequenceNumber()) problem(name + ": a file has sequence number " + live.newest);
      total(snapshot, "total-data-files", live.files[0]);
      total(snapshot, "total-delete-files", live.files[1] + live.files[2]);
      total(snapshot, "total-records", live.records[0]);
      total(snapshot, "total-position-deletes", live.records[1]);
      total(snapshot, "total-equality-deletes", live.records[2]);
      total(snapshot, "total-files-size", live.bytes);
    }
    return count;
  }

  private Counts countsOf(ManifestFile manifest) throws IOException {
    Counts known = manifests.get(manifest.path());
    if (known != null) return known;
    Counts counts = new Counts();
    try (ManifestReader<? extends ContentFile<?>> reader = manifest.content() == ManifestContent.DATA
        ? ManifestFiles.read(manifest, table.io(), table.specs()) : ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs())) {
      for (ContentFile<?> file : reader) {
        counts.files[file.content().id()]++;
        counts.records[file.content().id()] += file.recordCount();
        counts.bytes += file.fileSizeInBytes();
        if (file.dataSequenceNumber() == null) problem("no data sequence number: " + file.location());
        else counts.newest = Math.max(counts.newest, file.dataSequenceNumber());
      }
    }
    long live = counts.files[0] + counts.files[1] + counts.files[2];
    if (manifest.addedFilesCount() + manifest.existingFilesCount() != live) problem("manifest " + manifest.path() + " counts other files than it has");
    if (table.io().newInputFile(manifest.path()).getLength() != manifest.length()) problem("manifest " + manifest.path() + " has another length");
    manifests.put(manifest.path(), counts);
    return counts;
  }

  private void total(Snapshot snapshot, String name, long counted) {
    String said = snapshot.summary().get(name);
    if (said == null || Long.parseLong(said) != counted) problem("snapshot " + snapshot.sequenceNumber() + ": " + name + " is " + said + ", counted " + counted);
  }

  private int plan(Snapshot current) throws IOException {
    int count = 0;
    Map<String, Long> lengths = new HashMap<>();
    try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
      for (FileScanTask task : tasks) {
        count++;
        lengths.put(task.file().location(), task.file().fileSizeInBytes());
        task.deletes().forEach(file -> lengths.put(file.location(), file.fileSizeInBytes()));
      }
    }
    lengths.forEach((path, length) -> {
      if (table.io().newInputFile(path).getLength() != length) problem("file " + path + " has another length");
    });
    if (count != Long.parseLong(current.summary().get("total-data-files"))) problem(count + " files planned of " + current.summary().get("total-data-files"));
    return count;
  }

  private void problem(String text) {
    problems.add(text);
  }
}
