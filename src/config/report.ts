import { WalbergError } from '../errors/error.js';
import type { LoadResult } from './load.js';
import { describeOrigin, type Note, type Problem } from './problem.js';

const SECTIONS: readonly (readonly [kind: Note['kind'], title: string])[] = [
  ['unknown', 'Unknown properties'],
  ['different', 'Honoured in another way'],
  ['no-effect', 'Accepted without effect'],
  ['other-name', 'Other names'],
  ['default', "Defaults that are not Debezium's"],
];

/**
 * The whole report of a configuration, for `check`: whether it is valid and what it means, or the problems; then the notes. `file`
 * is where it was read from; absent = the environment alone. Ends with a line break.
 */
export function describeConfiguration(result: LoadResult, file?: string): string {
  const parts = [result.problems.length > 0 ? describeProblems(result.problems) : [`${file ?? 'The configuration in the environment'} is valid.`, ...result.summary, ''].join('\n')];
  for (const [kind, title] of SECTIONS) {
    const notes = result.notes.filter((n) => n.kind === kind);
    if (notes.length > 0) parts.push(section(title, notes.map(describeNote)));
  }
  return parts.filter((p) => p !== '').join('\n');
}

/** All problems as text; empty when there are none. */
export function describeProblems(problems: readonly Problem[]): string {
  if (problems.length === 0) return '';
  return section(problems.length === 1 ? '1 problem' : `${problems.length} problems`, problems.map(describeProblem));
}

/** One problem: `key = value (place) message remedy`. */
export function describeProblem({ key, value, origin, message, remedy }: Problem): string {
  const subject = [key, value === undefined ? undefined : `= ${value}`, origin === undefined ? undefined : `(${describeOrigin(origin)})`].filter((s) => s !== undefined).join(' ');
  return `${subject}${subject === '' ? '' : ' '}${message}\n      ${remedy}`;
}

/** One note: `key (place) message`. */
export function describeNote({ key, origin, message }: Note): string {
  return `${key}${origin === undefined ? '' : ` (${describeOrigin(origin)})`} ${message}`;
}

/** The problems as one error, whose code is that of the gravest: a file that cannot be read, then bad values, then refusals. */
export function problemsAsError(problems: readonly Problem[]): WalbergError {
  const code = (['CONFIG_UNREADABLE', 'CONFIG_INVALID', 'CONFIG_REFUSED'] as const).find((c) => problems.some((p) => p.code === c)) ?? 'CONFIG_INVALID';
  return new WalbergError(code, `The configuration cannot be used.\n${describeProblems(problems)}`.trimEnd(), { context: { problems: problems.length } });
}

function section(title: string, lines: readonly string[]): string {
  return `${title}:\n${lines.map((line) => `  - ${line}\n`).join('')}`;
}
