import { WalbergError } from '../errors/error.js';

export interface S3Location {
  readonly bucket: string;
  /** The object's key as it is, never percent-decoded; '' for the bucket itself. */
  readonly key: string;
}

const S3 = /^s3[an]?:\/\/([^/]+)(?:\/(.*))?$/is;

/** True for locations that S3Storage serves: `s3://`, and Hadoop's names `s3a://` and `s3n://`. */
export function isS3Location(location: string): boolean {
  return /^s3[an]?:\/\//i.test(location);
}

/** Bucket and key of a location. The key is everything after the bucket's slash, as the engines take it. */
export function parseS3Location(location: string): S3Location {
  const found = S3.exec(location);
  if (found === null) throw new WalbergError('CONFIG_INVALID', `Not a location in S3: ${location}`, { hint: 'Write s3://bucket/path.' });
  return { bucket: found[1], key: found[2] ?? '' };
}

/** One spelling for comparisons: `s3a://` and `s3n://` become `s3://`; every other location stays as it is. */
export function canonicalLocation(location: string): string {
  return location.replace(/^s3[an]?:\/\//i, 's3://');
}
