/** `"name"`, always quoted, so that case, dots and reserved words need no thought. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** `"schema"."name"` */
export function quoteTable(table: { readonly schema: string; readonly name: string }): string {
  return `${quoteIdentifier(table.schema)}.${quoteIdentifier(table.name)}`;
}

/** A string constant. The E form is used when needed, so it means the same whatever standard_conforming_strings says. */
export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`;
  return text.includes('\\') ? `E${quoted}` : quoted;
}

/**
 * Publication names for START_REPLICATION: an identifier list inside a string constant of the replication grammar, which
 * knows no E strings. Unquoted names would be folded to lower case, and a name that does not exist is only an error before
 * PostgreSQL 18: there the stream simply stays empty.
 */
export function quotePublicationList(names: readonly string[]): string {
  return `'${names.map(quoteIdentifier).join(',').replaceAll("'", "''")}'`;
}
