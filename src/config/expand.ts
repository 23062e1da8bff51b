/** What went wrong in an expression, without values. */
export class ExpressionError extends Error {}

/** Looks up a name; undefined when nothing has it. */
export type Lookup = (name: string) => string | undefined;

/**
 * Expands `${name}` and `${name:default}`, nested in both parts; what a name stands for is expanded too. `$$` is one `$`; a
 * `$` before anything else stands for itself.
 *
 * @throws ExpressionError when a name is unknown and has no default, when names go round in a circle, or when a brace is missing
 */
export function expand(text: string, lookup: Lookup): string {
  return expandText(text, lookup, []);
}

function expandText(text: string, lookup: Lookup, path: readonly string[]): string {
  let out = '';
  for (let i = 0; i < text.length; ) {
    if (text[i] !== '$') {
      out += text[i++];
    } else if (text[i + 1] === '$') {
      out += '$';
      i += 2;
    } else if (text[i + 1] === '{') {
      const end = closingBrace(text, i + 2);
      out += expandReference(text.slice(i + 2, end), lookup, path);
      i = end + 1;
    } else {
      out += text[i++];
    }
  }
  return out;
}

function expandReference(body: string, lookup: Lookup, path: readonly string[]): string {
  const colon = colonAtTop(body);
  const name = expandText(colon === -1 ? body : body.slice(0, colon), lookup, path);
  if (path.includes(name)) throw new ExpressionError(`\${${name}} refers to itself: ${[...path.slice(path.indexOf(name)), name].join(' → ')}`);
  const value = lookup(name);
  if (value !== undefined && value !== '') return expandText(value, lookup, [...path, name]);
  if (colon === -1) throw new ExpressionError(`\${${name}} is neither a property nor an environment variable`);
  return expandText(body.slice(colon + 1), lookup, path);
}

function closingBrace(text: string, from: number): number {
  let depth = 1;
  for (let i = from; i < text.length; i++) {
    if (text.startsWith('${', i)) depth++;
    else if (text[i] === '}' && --depth === 0) return i;
  }
  throw new ExpressionError('a ${ has no closing brace; write $${ for the characters');
}

function colonAtTop(body: string): number {
  let depth = 0;
  for (let i = 0; i < body.length; i++) {
    if (body.startsWith('${', i)) depth++;
    else if (body[i] === '}') depth--;
    else if (body[i] === ':' && depth === 0) return i;
  }
  return -1;
}
