import { WalbergError } from '../errors/error.js';

/** Largest log sequence number: unsigned 64 bits. */
export const MAX_LSN = 0xffffffffffffffffn;

/** `16/B374D848` as a number. Both halves are hexadecimal without leading zeros, so the text itself does not sort. */
export function parseLsn(text: string): bigint {
  const match = /^([0-9a-f]{1,8})\/([0-9a-f]{1,8})$/i.exec(text);
  if (match === null) throw new WalbergError('INTERNAL', `Not an LSN: ${JSON.stringify(text.slice(0, 40))}`);
  return (BigInt(`0x${match[1]}`) << 32n) | BigInt(`0x${match[2]}`);
}

/** The text form Postgres uses and accepts. */
export function formatLsn(lsn: bigint): string {
  return `${(lsn >> 32n).toString(16).toUpperCase()}/${(lsn & 0xffffffffn).toString(16).toUpperCase()}`;
}

/** Sixteen hexadecimal digits: text that sorts like the number, for properties that others compare as text. */
export function sortableLsn(lsn: bigint): string {
  return lsn.toString(16).toUpperCase().padStart(16, '0');
}
