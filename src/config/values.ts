import { JavaRegexError, replacePattern, wholeMatch } from './java-regex.js';
import type { PropertyType } from './property.js';

/** The value of a text, or what was expected instead. */
export type Parsed = { readonly value: unknown } | { readonly expected: string };

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };
const UNITS_BYTES: Readonly<Record<string, number>> = {
  b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3, tib: 1024 ** 4,
};

/** Reads `text`, which is trimmed and not empty, as a value of `type`. */
export function parseValue(type: PropertyType, text: string): Parsed {
  switch (type.kind) {
    case 'any':
      return { value: text };
    case 'string':
      return type.pattern === undefined || new RegExp(`^(?:${type.pattern.source})$`, type.pattern.flags).test(text) ? { value: text } : { expected: type.expected ?? 'another form' };
    case 'boolean':
      if (/^(true|yes|y|on|1)$/i.test(text)) return { value: true };
      if (/^(false|no|n|off|0)$/i.test(text)) return { value: false };
      return { expected: 'true or false' };
    case 'int':
      return /^-?[0-9]+$/.test(text) ? inRange(Number(text), type, 'a whole number', String) : { expected: withRange('a whole number', type, String) };
    case 'duration':
      return measured(text, UNITS_MS, type, 'milliseconds, or a number with ms, s, m or h', (n) => `${n} ms`);
    case 'size':
      return measured(text, UNITS_BYTES, type, 'bytes, or a number with a unit such as MiB or MB', (n) => `${n} bytes`);
    case 'enum': {
      const wanted = text.toLowerCase();
      const alias = Object.entries(type.aliases ?? {}).find(([name]) => name.toLowerCase() === wanted)?.[1];
      const value = type.values.find((v) => v.toLowerCase() === wanted) ?? alias;
      return value === undefined ? { expected: type.values.length === 1 ? type.values[0] : `one of ${type.values.join(', ')}` } : { value };
    }
    case 'list':
      return { value: splitList(text) };
    case 'regex':
      return pattern(() => replacePattern(text));
    case 'regex-list':
      return pattern(() => splitPatterns(text).map(wholeMatch));
  }
}

/** Items of a comma-separated list, without empty ones. */
export function splitList(text: string): string[] {
  return text.split(',').map((item) => item.trim()).filter((item) => item !== '');
}

/** As splitList, where `\,` is a comma inside an item (io.debezium.util.Strings.RegExSplitter). */
function splitPatterns(text: string): string[] {
  return text.split(/(?<!\\),/).map((item) => item.trim().replaceAll('\\,', ',')).filter((item) => item !== '');
}

function pattern(compile: () => unknown): Parsed {
  try {
    return { value: compile() };
  } catch (error) {
    if (!(error instanceof JavaRegexError) && !(error instanceof SyntaxError)) throw error;
    return { expected: `a regular expression (${error.message})` };
  }
}

interface Range { readonly min?: number; readonly max?: number }

function measured(text: string, units: Readonly<Record<string, number>>, range: Range, what: string, show: (n: number) => string): Parsed {
  const match = /^([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)$/.exec(text);
  const factor = match === null ? undefined : match[2] === '' ? 1 : units[match[2].toLowerCase()];
  if (factor === undefined) return { expected: withRange(what, range, show) };
  return inRange(Math.round(Number(match![1]) * factor), range, what, show);
}

function inRange(value: number, range: Range, what: string, show: (n: number) => string): Parsed {
  const inside = Number.isSafeInteger(value) && value >= (range.min ?? -Infinity) && value <= (range.max ?? Infinity);
  return inside ? { value } : { expected: withRange(what, range, show) };
}

function withRange(what: string, { min, max }: Range, show: (n: number) => string): string {
  if (min !== undefined && max !== undefined) return `${what}, from ${show(min)} to ${show(max)}`;
  if (min !== undefined && min > 0) return `${what}, at least ${show(min)}`;
  return min === 0 ? `${what}, not negative` : what;
}
