/** The chapters of the reference page, in its order. */
export const GROUPS = {
  connection: 'Connection to Postgres',
  capture: 'What is captured',
  load: 'Initial load',
  values: 'How values map',
  engine: 'Engine of the source',
  offset: 'Offsets and history',
  catalog: 'Iceberg catalog',
  storage: 'Object storage',
  tables: 'Tables and their names',
  batch: 'Commits',
  transforms: 'Transforms, converters and formats',
  runtime: 'Logs, health and metrics',
  own: "Walberg's own settings",
} as const;

export type Group = keyof typeof GROUPS;

/** How the text of a value is read. `doc` says what the value means. */
export type PropertyType =
  | { readonly kind: 'string'; /** The text must match it whole; `expected` says so in words. */ readonly pattern?: RegExp; readonly expected?: string }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'int'; readonly min?: number; readonly max?: number }
  /** Plain milliseconds, or a number with ms, s, m or h. */
  | { readonly kind: 'duration'; readonly min?: number; readonly max?: number }
  /** Plain bytes, or a number with kB/MB/GB (powers of 1000) or KiB/MiB/GiB (powers of 1024). */
  | { readonly kind: 'size'; readonly min?: number; readonly max?: number }
  /** `aliases` are other spellings of a value, written to the canonical one without a note. */
  | { readonly kind: 'enum'; readonly values: readonly string[]; readonly aliases?: Readonly<Record<string, string>> }
  /** Comma-separated; spaces around items are dropped. */
  | { readonly kind: 'list' }
  /** Comma-separated Java regular expressions, matched whole and without regard to case. */
  | { readonly kind: 'regex-list' }
  /** A Java regular expression. */
  | { readonly kind: 'regex' }
  /** Any text: read where the whole configuration is known. */
  | { readonly kind: 'any' };

/**
 * What happens to a property that the configuration sets:
 *  - `supported`: honoured
 *  - `accepted`: known, and without effect here because of `why`; listed at start
 *  - `refused`: would change data or files in a way that is not done here. `harmless` are values that ask for nothing,
 *    which are accepted; any other value stops the start with `why` and `instead`.
 */
export type PropertyStatus =
  | { readonly kind: 'supported' }
  | { readonly kind: 'accepted'; readonly why: string }
  | { readonly kind: 'refused'; readonly why: string; readonly instead: string; readonly harmless: readonly string[] };

/** What a declaration may ask about the rest of the configuration. */
export interface SettingsView {
  boolean(name: string): boolean;
  isSet(name: string): boolean;
}

/** One declaration of a property. Everything else (parsing, environment names, reference, example, report) comes from it. */
export interface Property {
  /** Full name; `<x>` stands for one or more characters chosen by the user. */
  readonly name: string;
  readonly group: Group;
  readonly type: PropertyType;
  readonly status: PropertyStatus;
  /** One or two sentences: meaning and unit. */
  readonly doc: string;
  /** Text of the value when unset; absent = none. */
  readonly default?: string;
  /** The default in words, where it depends on other properties. */
  readonly defaultWords?: string;
  /** Text of Debezium's default (Java sink or connector) where Walberg's differs, with the reason. */
  readonly differs?: { readonly debezium: string; readonly because: string; /** The whole note after the name, where `is …, in Debezium …: …` reads badly. */ readonly note?: string };
  /** Whether a differing default matters to a configuration that leaves the property unset; absent = always. */
  readonly touches?: (settings: SettingsView) => boolean;
  /** Single values of an otherwise supported property that are refused: value → reason and replacement. */
  readonly refusedValues?: Readonly<Record<string, string>>;
  /** Single values that are accepted but do not do all that Debezium does: value → note. */
  readonly notedValues?: Readonly<Record<string, string>>;
  /** The value is never printed. */
  readonly secret?: boolean;
  /** Another name of a property: the value counts for that one, which wins when both are set. */
  readonly aliasOf?: string;
  /** Shown in the example file, with this value. */
  readonly example?: string;
}

type Extra = Partial<Omit<Property, 'name' | 'group' | 'type' | 'status' | 'doc'>>;

/** Shorthands that keep one declaration on one or two lines. */
export function declare(group: Group, prefix: string) {
  const property = (name: string, type: PropertyType, status: PropertyStatus, doc: string, extra: Extra): Property => ({ name: prefix + name, group, type, status, doc, ...extra });
  return {
    supported: (name: string, type: PropertyType, doc: string, extra: Extra = {}): Property => property(name, type, { kind: 'supported' }, doc, extra),
    accepted: (name: string, doc: string, why: string, extra: Extra & { type?: PropertyType } = {}): Property => {
      const { type, ...rest } = extra;
      return property(name, type ?? ANY, { kind: 'accepted', why }, doc, rest);
    },
    /** `harmless`: values that ask for nothing; empty text always does. */
    refused: (name: string, doc: string, why: string, instead: string, harmless: readonly string[] = [], extra: Extra = {}): Property =>
      property(name, ANY, { kind: 'refused', why, instead, harmless }, doc, extra),
    alias: (name: string, of: string, doc: string, extra: Extra = {}): Property => property(name, ANY, { kind: 'supported' }, doc, { aliasOf: of, ...extra }),
  };
}

export const ANY: PropertyType = { kind: 'any' };
export const TEXT: PropertyType = { kind: 'string' };
export const BOOLEAN: PropertyType = { kind: 'boolean' };
export const LIST: PropertyType = { kind: 'list' };
export const REGEX: PropertyType = { kind: 'regex' };
export const REGEX_LIST: PropertyType = { kind: 'regex-list' };
export const int = (min?: number, max?: number): PropertyType => ({ kind: 'int', min, max });
/** Node's timers hold no more than 2³¹ - 1 ms. */
export const duration = (min = 0, max = 2 ** 31 - 1): PropertyType => ({ kind: 'duration', min, max });
export const size = (min = 0, max?: number): PropertyType => ({ kind: 'size', min, max });
export const oneOf = (values: readonly string[], aliases?: Readonly<Record<string, string>>): PropertyType => ({ kind: 'enum', values, aliases });
export const text = (pattern: RegExp, expected: string): PropertyType => ({ kind: 'string', pattern, expected });
