import { asWalbergError } from '../errors/error.js';

/** ok: as it should be. note: works, but worth knowing. problem: `run` would stop, or would not start. */
export type Mark = 'ok' | 'note' | 'problem';

/** One line of the preflight. */
export interface Finding {
  readonly mark: Mark;
  readonly text: string;
  /** The exact SQL, setting or step. */
  readonly remedy?: string;
}

/** Findings about one part of the way from source to tables. */
export interface Group {
  readonly title: string;
  readonly findings: readonly Finding[];
}

/** Something that is as it should be. */
export function ok(text: string): Finding {
  return { mark: 'ok', text };
}

/** Something that does not prevent running. */
export function note(text: string, remedy?: string): Finding {
  return { mark: 'note', text, ...(remedy === undefined ? {} : { remedy }) };
}

/** Something that prevents running. */
export function problem(text: string, remedy?: string): Finding {
  return { mark: 'problem', text, ...(remedy === undefined ? {} : { remedy }) };
}

/** What a step of the start would throw, as a problem with the remedy the error names. */
export function problemOf(error: unknown): Finding {
  const { code, message, hint } = asWalbergError(error);
  return problem(`${message} (${code})`, hint);
}

/** The problem that `check` finds, or none. */
export function refusal(check: () => void): Finding[] {
  try {
    check();
    return [];
  } catch (error) {
    return [problemOf(error)];
  }
}
