import type { Origin } from './problem.js';
import { propertyNamed } from './properties.js';
import type { SettingsView } from './property.js';
import { parseValue } from './values.js';

/** A value that was set, read and found good. */
export interface Setting {
  /** As the user wrote it. */
  readonly key: string;
  readonly text: string;
  readonly value: unknown;
  readonly origin: Origin;
}

/** The values in force, by declared name: what was set, or the default. */
export class Settings implements SettingsView {
  readonly #set: ReadonlyMap<string, Setting>;

  constructor(set: ReadonlyMap<string, Setting>) {
    this.#set = set;
  }

  isSet(name: string): boolean {
    propertyNamed(name);
    return this.#set.has(name);
  }

  /** Key and origin of what was set, for problems. */
  setting(name: string): Setting | undefined {
    propertyNamed(name);
    return this.#set.get(name);
  }

  string(name: string): string | undefined {
    return this.#value(name, 'string', 'enum', 'any') as string | undefined;
  }

  boolean(name: string): boolean {
    return this.#value(name, 'boolean') as boolean;
  }

  /** Integers, durations in milliseconds and sizes in bytes. */
  number(name: string): number {
    return this.#value(name, 'int', 'duration', 'size') as number;
  }

  choice<T extends string>(name: string): T {
    return this.#value(name, 'enum') as T;
  }

  list(name: string): readonly string[] {
    return (this.#value(name, 'list') as readonly string[] | undefined) ?? [];
  }

  patterns(name: string): readonly RegExp[] {
    return (this.#value(name, 'regex-list') as readonly RegExp[] | undefined) ?? [];
  }

  pattern(name: string): RegExp | undefined {
    return this.#value(name, 'regex') as RegExp | undefined;
  }

  /** What was set under names with this beginning, by the rest of the name. */
  withPrefix(prefix: string): Map<string, Setting> {
    return new Map([...this.#set].filter(([name]) => name.startsWith(prefix)).map(([name, setting]) => [name.slice(prefix.length), setting]));
  }

  #value(name: string, ...kinds: readonly string[]): unknown {
    const property = propertyNamed(name);
    if (!kinds.includes(property.type.kind)) throw new Error(`${name} is not ${kinds.join(' or ')} but ${property.type.kind}`);
    const setting = this.#set.get(name);
    if (setting !== undefined) return setting.value;
    if (property.default === undefined) return undefined;
    const parsed = parseValue(property.type, property.default);
    return 'value' in parsed ? parsed.value : undefined;
  }
}
