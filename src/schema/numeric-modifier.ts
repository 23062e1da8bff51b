/** Declared digits of a numeric: `precision` in all, `scale` after the decimal point (negative since Postgres 15). */
export interface NumericModifier {
  readonly precision: number;
  readonly scale: number;
}

/** Size of a varlena header, which Postgres adds to every numeric type modifier. */
const HEADER = 4;

/**
 * Reads the type modifier of numeric; undefined when the type has none. Precision is in the upper 16 bits, scale in the
 * lower 11 as a signed number (src/backend/utils/adt/numeric.c, make_numeric_typmod). Servers before 15 use all lower 16
 * bits for a scale of 0 to 1000, which reads the same.
 */
export function numericModifier(typmod: number): NumericModifier | undefined {
  if (typmod < HEADER) return undefined;
  const packed = typmod - HEADER;
  return { precision: (packed >> 16) & 0xffff, scale: ((packed & 0x7ff) ^ 1024) - 1024 };
}
