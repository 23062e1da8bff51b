/** 1,234,567 */
export const count = (n: number): string => Math.round(n).toLocaleString('en-US');

/** 0.8 s */
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** 812 B, 3.4 kB, 1.2 MB */
export function bytes(n: number): string {
  if (n < 1000) return `${Math.round(n)} B`;
  return n < 999_950 ? `${(n / 1e3).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}
