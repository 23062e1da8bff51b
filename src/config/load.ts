import { assemble } from './assemble.js';
import { unwrapName } from './chain.js';
import type { WalbergConfig } from './config.js';
import { expand, ExpressionError } from './expand.js';
import type { Note, Problem } from './problem.js';
import { findProperty, isPattern, PROPERTIES } from './properties.js';
import type { Property } from './property.js';
import { Settings, type Setting } from './settings.js';
import { fromEnvironment, readEnvironment, readPropertiesFile, type RawSetting } from './sources.js';
import { lacksFamily, nearestProperty } from './suggest.js';
import { summarize } from './summary.js';
import { parseValue } from './values.js';

/** The configuration, present when there are no problems, and what to tell about it. */
export interface LoadResult {
  readonly config?: WalbergConfig;
  readonly problems: readonly Problem[];
  readonly notes: readonly Note[];
  /** What the configuration means, in lines without secrets; empty when there are problems. */
  readonly summary: readonly string[];
}

export interface LoadOptions {
  /** Path of a properties file; absent = environment only. */
  readonly file?: string;
  /** Environment variables; they win over the file. */
  readonly env?: NodeJS.ProcessEnv;
  /** Values by property name; they win over both. */
  readonly overrides?: Readonly<Record<string, string>>;
}

/** Reads the whole configuration. Bad values do not throw: every problem is in the result. */
export function loadConfig(options: LoadOptions = {}): LoadResult {
  const file = options.file === undefined ? { settings: [] } : readPropertiesFile(options.file);
  // What would be missing without the file is no news.
  if (file.problem !== undefined) return { problems: [file.problem], notes: [], summary: [] };
  const reading = new Reading(file.settings, options);
  const settings = new Settings(reading.set);
  const assembled = assemble(settings, reading.passedThrough, reading.reported);
  const problems = [...reading.problems, ...assembled.problems];
  const notes = [...reading.notes, ...assembled.notes, ...differingDefaults(settings)];
  return problems.length === 0 ? { config: assembled.config, problems, notes, summary: summarize(settings, assembled.config) } : { problems, notes, summary: [] };
}

/** Keys the user chose, from all sources, turned into settings under their declared names. */
class Reading {
  readonly set = new Map<string, Setting>();
  /** Unknown keys under debezium.sink.iceberg, for the catalog. */
  readonly passedThrough: Record<string, string> = {};
  readonly problems: Problem[] = [];
  readonly notes: Note[] = [];
  /** Declared names that are in a problem: their value is bad, or somebody tried to write them. */
  readonly reported = new Set<string>();
  /** Keys that belong to nobody we know: the user's own, for ${…}. */
  readonly #own: RawSetting[] = [];
  readonly #used = new Set<string>();
  readonly #raw: ReadonlyMap<string, RawSetting>;
  readonly #env: NodeJS.ProcessEnv;

  constructor(fromFile: readonly RawSetting[], { env = {}, overrides = {} }: LoadOptions) {
    this.#env = env;
    this.#raw = new Map([
      ...fromFile,
      ...readEnvironment(env, fromFile.map((s) => s.key)),
      ...Object.entries(overrides).map(([key, text]): RawSetting => ({ key, text, origin: { kind: 'override' } })),
    ].map((s) => [s.key, s]));
    const unwrap = unwrapName((key) => this.#raw.get(key)?.text.trim());
    // Other names come last, so that the name proper wins when both are set.
    const entries = [...this.#raw.values()].map((raw) => ({ raw, found: declarationOf(canonicalKey(raw.key, unwrap)) }));
    for (const { raw, found } of entries) if (found?.property.aliasOf === undefined) this.#read(raw, canonicalKey(raw.key, unwrap), found?.property);
    for (const { raw, found } of entries) if (found?.property.aliasOf !== undefined) this.#readAlias(raw, found.property);
    for (const raw of this.#own) if (!this.#used.has(raw.key) && lacksFamily(raw.key)) this.#slip(raw, nearestProperty(raw.key)!);
  }

  #readAlias(raw: RawSetting, alias: Property): void {
    const name = alias.aliasOf!;
    if (this.set.has(name)) {
      this.notes.push({ kind: 'other-name', key: raw.key, origin: raw.origin, message: `is another name of ${name}, which is set and wins.` });
      return;
    }
    this.#read(raw, name, findProperty(name)!.property);
    this.notes.push({ kind: 'other-name', key: raw.key, origin: raw.origin, message: `is another name of ${name}.` });
  }

  #read(raw: RawSetting, name: string, property: Property | undefined): void {
    const before = this.problems.length;
    this.#readValue(raw, name, property);
    if (this.problems.length > before) this.reported.add(name);
  }

  #readValue(raw: RawSetting, name: string, property: Property | undefined): void {
    const text = this.#expanded(raw, property);
    // As in MicroProfile an empty value means unset.
    if (text === undefined || text === '') return;
    if (property === undefined) this.#unknown(raw, name, text);
    else if (property.status.kind === 'refused') this.#refused(raw, name, text, property, property.status);
    else this.#accept(raw, name, text, property);
  }

  #expanded(raw: RawSetting, property: Property | undefined): string | undefined {
    try {
      return expand(raw.text, (name) => this.#lookup(name)).trim();
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      this.#problem(raw, 'CONFIG_INVALID', property, undefined, `cannot be expanded: ${error.message}.`, 'Set the variable, or give a default as ${NAME:default}.');
      return undefined;
    }
  }

  #lookup(name: string): string | undefined {
    this.#used.add(name);
    return this.#raw.get(name)?.text ?? fromEnvironment(this.#env, name)?.text ?? PROPERTIES.find((p) => p.name === name)?.default;
  }

  /** An unknown key that was probably meant for a property with an effect is a problem: ignored, it would change what is captured or written. */
  #unknown(raw: RawSetting, name: string, text: string): void {
    const ours = /^(debezium|walberg)\./i.test(raw.key);
    const near = nearestProperty(name);
    const hint = near === undefined ? '' : ` Did you mean ${near.name}?`;
    const note = (message: string): void => { this.notes.push({ kind: 'unknown', key: raw.key, origin: raw.origin, message }); };
    if (raw.key.startsWith('%')) {
      note('belongs to a Quarkus profile; profiles are not read, so it has no effect.');
    } else if (near !== undefined && near.status.kind !== 'accepted' && (ours || !lacksFamily(raw.key))) {
      this.#slip(raw, near);
    } else if (raw.key.startsWith('walberg.') && raw.origin.kind !== 'environment') {
      this.#problem(raw, 'CONFIG_INVALID', undefined, undefined, `is not a setting of Walberg.${hint}`, 'Correct or remove it; conf/PROPERTIES.md lists all.');
    } else if (raw.key.startsWith('debezium.source.') && FILTER.test(raw.key)) {
      this.#problem(raw, 'CONFIG_INVALID', undefined, undefined, 'is not a setting of Walberg, and without it more or less would be captured than it asks for.', 'Use schema, table or column with .include.list or .exclude.list.');
    } else if (raw.key.startsWith('debezium.sink.iceberg.')) {
      this.passedThrough[raw.key.slice('debezium.sink.iceberg.'.length)] = text;
      note(`is unknown and handed to the catalog as it is.${hint}`);
    } else if (ours) {
      note(`is unknown and has no effect.${hint}`);
    } else {
      this.#own.push(raw);
    }
  }

  #slip(raw: RawSetting, near: Property): void {
    this.reported.add(near.name);
    this.#problem(raw, 'CONFIG_INVALID', undefined, undefined, `is not a setting of Walberg. Did you mean ${near.name}?`, 'Correct or remove it; conf/PROPERTIES.md lists all.');
  }

  #refused(raw: RawSetting, name: string, text: string, property: Property, status: Extract<Property['status'], { kind: 'refused' }>): void {
    const harmless = status.harmless.find((value) => value.toLowerCase() === text.toLowerCase());
    if (harmless === undefined) this.#problem(raw, 'CONFIG_REFUSED', property, text, `is refused: ${status.why}.`, status.instead);
    else this.set.set(name, { key: raw.key, text, value: harmless, origin: raw.origin });
  }

  #accept(raw: RawSetting, name: string, text: string, property: Property): void {
    const refusal = caseless(property.refusedValues, text);
    if (refusal !== undefined) {
      const [why, instead] = splitReason(refusal);
      this.#problem(raw, 'CONFIG_REFUSED', property, text, `is refused: ${why}.`, instead);
      return;
    }
    const parsed = parseValue(property.type, text);
    if ('value' in parsed && caseless(property.refusedValues, String(parsed.value)) !== undefined) {
      this.#accept(raw, name, String(parsed.value), property);
      return;
    }
    if ('expected' in parsed) {
      this.#problem(raw, 'CONFIG_INVALID', property, text, 'is not valid.', `Expected: ${parsed.expected}.`);
      return;
    }
    this.set.set(name, { key: raw.key, text, value: parsed.value, origin: raw.origin });
    const note = caseless(property.notedValues, text);
    if (note !== undefined) this.notes.push({ kind: 'different', key: raw.key, origin: raw.origin, message: `${text}: ${note}.` });
    if (property.status.kind === 'accepted') this.notes.push({ kind: 'no-effect', key: raw.key, origin: raw.origin, message: `has no effect: ${property.status.why}.` });
  }

  #problem(raw: RawSetting, code: Problem['code'], property: Property | undefined, value: string | undefined, message: string, remedy: string): void {
    this.problems.push({ code, key: raw.key, value: property?.secret === true ? undefined : value, origin: raw.origin, message, remedy });
  }
}

/** Names of filters of any connector and age: what they ask for must not be ignored. */
const FILTER = /(schema|table|column|collection|database|field|key|operation)s?[._-]?(include|exclude|white|black|allow|deny|ignore|filter)/i;

const UNWRAP_OPTION = 'debezium.transforms.unwrap.';

/** As findProperty, but the options of the flattening transform are all declared by name, so that others are unknown. */
function declarationOf(key: string): ReturnType<typeof findProperty> {
  const found = findProperty(key);
  return found !== undefined && key.startsWith(UNWRAP_OPTION) && isPattern(found.property) ? undefined : found;
}

/** Options of the flattening transform count under whatever name the chain gives it. */
function canonicalKey(key: string, unwrap: string): string {
  const prefix = `debezium.transforms.${unwrap}.`;
  return unwrap !== 'unwrap' && key.startsWith(prefix) && key !== `${prefix}type` ? `debezium.transforms.unwrap.${key.slice(prefix.length)}` : key;
}

function caseless(table: Readonly<Record<string, string>> | undefined, text: string): string | undefined {
  return Object.entries(table ?? {}).find(([value]) => value.toLowerCase() === text.toLowerCase())?.[1];
}

/** "reason; replacement" of a refused value. */
function splitReason(refusal: string): [why: string, instead: string] {
  const at = refusal.indexOf('; ');
  const instead = at === -1 ? 'remove it' : refusal.slice(at + 2);
  return [at === -1 ? refusal : refusal.slice(0, at), `${instead[0].toUpperCase()}${instead.slice(1)}.`];
}

/** Defaults that are not Debezium's, where the property is unset and the rest of the configuration makes it matter. */
function differingDefaults(settings: Settings): Note[] {
  const words = ({ differs, defaultWords, default: text }: Property): string =>
    differs!.note ?? `is ${(defaultWords ?? text ?? 'unset').replaceAll('`', '')}, in Debezium ${differs!.debezium}: ${differs!.because}`;
  return PROPERTIES.filter((p) => p.differs !== undefined && !isPattern(p) && !settings.isSet(p.name) && (p.touches?.(settings) ?? true))
    .map((p) => ({ kind: 'default', key: p.name, message: `${words(p)}.` }));
}
