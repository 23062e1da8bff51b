/** Postgres array text by way of strings, sharing nothing with the project's parser. */

/** The text array_out gives for a one-dimensional array; `first` is its lower bound. */
export function arrayText(elements: readonly (string | null)[], { delimiter = ',', first = 1 }: { readonly delimiter?: string; readonly first?: number } = {}): string {
  const quoted = (text: string): boolean => text === '' || /^null$/i.test(text) || [...text].some((c) => c === delimiter || '{}"\\ \t\n\r\v\f'.includes(c));
  const items = elements.map((text) => (text === null ? 'NULL' : quoted(text) ? `"${text.replace(/[\\"]/g, '\\$&')}"` : text));
  const bounds = first === 1 || elements.length === 0 ? '' : `[${first}:${first + elements.length - 1}]=`;
  return `${bounds}{${items.join(delimiter)}}`;
}

/** Elements of the text of a one-dimensional array; undefined for more dimensions and for what is no array. */
export function parseArrayText(text: string, delimiter = ','): (string | null)[] | undefined {
  const body = /^(?:\[[-0-9:]+\]=)?\{([^]*)\}$/.exec(text)?.[1];
  if (body === undefined || body === '') return body === undefined ? undefined : [];
  const escapedDelimiter = delimiter.replace(/[.*+?^${}()|[\]\\;]/g, '\\$&');
  const item = new RegExp(`(?:"((?:[^"\\\\]|\\\\[^])*)"|([^"{}\\\\${escapedDelimiter}]+))(${escapedDelimiter}|$)`, 'y');
  const elements: (string | null)[] = [];
  for (;;) {
    const match = item.exec(body);
    if (match === null) return undefined;
    elements.push(match[1] !== undefined ? match[1].replace(/\\([^])/g, '$1') : match[2] === 'NULL' ? null : match[2]);
    if (match[3] === '') return item.lastIndex === body.length || match.index + match[0].length === body.length ? elements : undefined;
  }
}
