import type { Writer } from './column-bytes.js';

/** `1 year -2 mons +3 days -04:05:06.789`, each part but one optional; a sign of the time holds for all of it (intervalstyle=postgres). */
const INTERVAL = /^(?:(-?\d+) years?(?: |$))?(?:([+-]?\d+) mons?(?: |$))?(?:([+-]?\d+) days?(?: |$))?(?:([+-]?)(\d+):(\d\d):(\d\d)(\.\d+)?)?$/;

/**
 * Interval text of Postgres as ISO 8601, in the form of Debezium's string mode, which names every part: `P1Y2M3DT4H5M6.78S`,
 * `P0Y0M0DT-4H-5M-6S`. ±infinity stays the word it is.
 */
export const writeIsoInterval: Writer = (bytes, at, length, out, target) => {
  const text = bytes.toString('latin1', at, at + length);
  if (text === 'infinity' || text === '-infinity') return target + out.write(text, target, 'latin1');
  const match = text === '' ? null : INTERVAL.exec(text);
  if (match === null) return -1;
  const [, years, months, days, sign, hours, minutes, seconds, fraction = ''] = match;
  const part = (value = '0', negative = false, rest = ''): string => `${negative && (Number(value) !== 0 || rest !== '') ? '-' : ''}${Number(value)}${rest}`;
  const below = sign === '-';
  return target + out.write(`P${part(years)}Y${part(months)}M${part(days)}DT${part(hours, below)}H${part(minutes, below)}M${part(seconds, below, fraction)}S`, target, 'latin1');
};
