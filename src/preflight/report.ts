import type { Group } from './finding.js';
import { count } from './words.js';

/** Width of the longest mark. */
const WIDTH = 'problem'.length;

/** The preflight as text: one line per finding, the remedy below it. Ends with a line break. */
export function describePreflight(groups: readonly Group[]): string {
  const lines: string[] = [];
  for (const { title, findings } of groups) {
    if (findings.length === 0) continue;
    lines.push(title);
    for (const { mark, text, remedy } of findings) {
      lines.push(`  ${mark.padEnd(WIDTH)}  ${text}`);
      if (remedy !== undefined) lines.push(`  ${' '.repeat(WIDTH)}    ${remedy}`);
    }
    lines.push('');
  }
  const marks = groups.flatMap((g) => g.findings).map((f) => f.mark);
  const [problems, notes] = [marks.filter((m) => m === 'problem').length, marks.filter((m) => m === 'note').length];
  lines.push(`${problems === 0 ? 'Nothing prevents running' : count(problems, 'problem')}${notes === 0 ? '' : `, ${count(notes, 'note')}`}.`);
  return `${lines.join('\n')}\n`;
}

/** Does anything prevent running. */
export function hasProblems(groups: readonly Group[]): boolean {
  return groups.some((g) => g.findings.some((f) => f.mark === 'problem'));
}
