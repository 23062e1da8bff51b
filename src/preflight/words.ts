const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** A size for people, in the units that Postgres settings use (1 kB = 1024 bytes). */
export function size(bytes: bigint): string {
  let value = Number(bytes);
  let unit = 0;
  while (value >= 1024 && unit + 1 < UNITS.length) {
    value /= 1024;
    unit++;
  }
  return `${value < 10 && unit > 0 ? Number(value.toFixed(1)) : Math.round(value)} ${UNITS[unit]}`;
}

/** A duration for people. */
export function duration(seconds: number): string {
  return seconds >= 7200 ? `${Math.round(seconds / 3600)} h` : seconds >= 120 ? `${Math.round(seconds / 60)} min` : `${seconds} s`;
}

/** `1 table`, `3 tables`. */
export function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}

const SHOWN = 20;

/** The first entries, and how many more there are. */
export function list(entries: readonly string[]): string {
  const shown = entries.slice(0, SHOWN).join(', ');
  return entries.length > SHOWN ? `${shown} and ${entries.length - SHOWN} more` : shown;
}
