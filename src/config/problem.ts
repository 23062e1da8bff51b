import type { ErrorCode } from '../errors/codes.js';

/** Where a value came from. */
export type Origin =
  | { readonly kind: 'file'; readonly line: number }
  | { readonly kind: 'environment'; readonly variable: string }
  | { readonly kind: 'override' };

/** Something that stops the start. Secrets never appear in it. */
export interface Problem {
  readonly code: ErrorCode;
  /** Property name as the user wrote it; absent when the file as a whole is meant. */
  readonly key?: string;
  /** The value as given; absent for secrets and missing values. */
  readonly value?: string;
  readonly origin?: Origin;
  /** What is wrong, as the rest of a sentence that begins with the key. */
  readonly message: string;
  /** What to do. */
  readonly remedy: string;
}

/**
 * Something worth telling that does not stop the start:
 *  - `no-effect`: a known property that does nothing here
 *  - `unknown`: not in the schema
 *  - `other-name`: another name of a property was used
 *  - `different`: a value is honoured in another way than by Debezium
 *  - `default`: an unset property whose default is not Debezium's
 */
export interface Note {
  readonly kind: 'no-effect' | 'unknown' | 'other-name' | 'different' | 'default';
  readonly key: string;
  readonly origin?: Origin;
  readonly message: string;
}

/** The place of a value for people: `line 12`, `environment variable X`. */
export function describeOrigin(origin: Origin): string {
  return origin.kind === 'file' ? `line ${origin.line}` : origin.kind === 'environment' ? `environment variable ${origin.variable}` : 'command line';
}
