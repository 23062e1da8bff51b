import { isPattern, PROPERTIES } from './properties.js';

const names = PROPERTIES.filter((p) => !isPattern(p)).map((p) => p.name);

/** The declared name closest to `key`, when it is close enough to be a slip of the keyboard. */
export function closestName(key: string): string | undefined {
  const wanted = normal(key);
  let best: string | undefined;
  let bestDistance = Math.min(4, Math.ceil(wanted.length / 5) + 1);
  for (const name of names) {
    if (Math.abs(name.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(wanted, normal(name));
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best;
}

/** Dots, hyphens and underscores are the usual mistake, so they count as equal. */
function normal(name: string): string {
  return name.toLowerCase().replaceAll(/[._-]/g, '.');
}

/** Levenshtein distance in one row. */
function editDistance(a: string, b: string): number {
  const row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    let diagonal = row[0];
    row[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const above = row[j];
      row[j] = Math.min(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] === b[j - 1] ? 0 : 1));
      diagonal = above;
    }
  }
  return row[b.length];
}
