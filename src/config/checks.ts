import type { Note, Problem } from './problem.js';
import { propertyNamed } from './properties.js';
import type { Setting, Settings } from './settings.js';

/** Collects what is wrong with properties taken together. */
export class Checks {
  readonly problems: Problem[] = [];
  readonly notes: Note[] = [];
  readonly #settings: Settings;
  /** Names whose value was already found bad, so that they are not reported as missing too. */
  readonly #reported: ReadonlySet<string>;

  constructor(settings: Settings, reported: ReadonlySet<string> = new Set()) {
    this.#settings = settings;
    this.#reported = reported;
  }

  /** Whether one of these is in a problem already: what follows from its absence is then no news, and may be wrong. */
  reported(...names: readonly string[]): boolean {
    return names.some((name) => this.#reported.has(name));
  }

  /** The text of a property that must be set; '' when it is not, which is a problem. The remedy says what it is. */
  required(name: string, remedy = propertyNamed(name).doc.replace(/ Required[^.]*\.$/, '')): string {
    const value = this.#settings.string(name);
    if (value === undefined && !this.reported(name)) this.problems.push({ code: 'CONFIG_INVALID', key: name, message: 'is required.', remedy });
    return value ?? '';
  }

  /** A problem with the value of `name`. */
  invalid(name: string, message: string, remedy: string): void {
    this.#problem('CONFIG_INVALID', name, message, remedy);
  }

  refused(name: string, message: string, remedy: string): void {
    this.#problem('CONFIG_REFUSED', name, message, remedy);
  }

  /** A problem with a setting whose name is a pattern. */
  refusedSetting({ key, text, origin }: Setting, message: string, remedy: string): void {
    this.problems.push({ code: 'CONFIG_REFUSED', key, value: text, origin, message, remedy });
  }

  note(kind: Note['kind'], name: string, message: string): void {
    const setting = this.#settings.setting(name);
    this.notes.push({ kind, key: setting?.key ?? name, origin: setting?.origin, message });
  }

  /** Two properties that are set both or not at all. `none` says what not at all means. */
  together(first: string, second: string, none = ''): void {
    for (const [given, missing] of [[first, second], [second, first]]) {
      if (this.#settings.isSet(given) && !this.#settings.isSet(missing) && !this.reported(missing)) this.invalid(given, `needs ${missing}.`, `Set both${none === '' ? ' or none' : `, or none ${none}`}.`);
    }
  }

  /** Two properties that exclude each other. */
  exclusive(first: string, second: string): void {
    if (this.#settings.isSet(first) && this.#settings.isSet(second)) this.invalid(second, `cannot be set together with ${first}.`, 'Remove one of the two.');
  }

  #problem(code: Problem['code'], name: string, message: string, remedy: string): void {
    const setting = this.#settings.setting(name);
    const secret = propertyNamed(name).secret === true;
    this.problems.push({ code, key: setting?.key ?? name, value: secret ? undefined : setting?.text, origin: setting?.origin, message, remedy });
  }
}
