import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { ConnectionConfig } from '../config/config.js';
import { WalbergError } from '../errors/error.js';

/** One way to try: `false` is plain text. */
export type TlsAttempt = false | ConnectionOptions;

/**
 * The connection attempts that `sslmode` stands for, in order (PostgreSQL manual, libpq "SSL Support", table of modes):
 *  - allow: plain, then encrypted; prefer: encrypted, then plain; neither verifies anything
 *  - require: encrypted; verifies the chain when a root certificate is given, as libpq does for old configurations
 *  - verify-ca: the chain; verify-full: the chain and the host name. Without a root certificate Node's own list counts.
 * Sockets in the file system are never encrypted.
 */
export function tlsAttempts(config: ConnectionConfig): readonly TlsAttempt[] {
  if (config.sslMode === 'disable' || config.host.startsWith('/')) return [false];
  const identity = clientIdentity(config);
  const unverified: ConnectionOptions = { ...identity, rejectUnauthorized: false };
  switch (config.sslMode) {
    case 'allow': return [false, unverified];
    case 'prefer': return [unverified, false];
    case 'require': return [config.sslRootCert === undefined ? unverified : verified(config, identity, false)];
    case 'verify-ca': return [verified(config, identity, false)];
    case 'verify-full': return [verified(config, identity, true)];
  }
}

function verified(config: ConnectionConfig, identity: ConnectionOptions, hostName: boolean): ConnectionOptions {
  const ca = config.sslRootCert === undefined ? undefined : readPem(config.sslRootCert, 'database.sslrootcert');
  // Returning undefined accepts any name; the chain is still checked.
  return { ...identity, ca, rejectUnauthorized: true, ...(hostName ? {} : { checkServerIdentity: () => undefined }) };
}

/** The client's certificate and key: PEM, or what JDBC users have: PKCS#8 DER (`.pk8`) and PKCS#12 (`.p12`, `.pfx`). */
function clientIdentity(config: ConnectionConfig): ConnectionOptions {
  const passphrase = config.sslKeyPassword;
  if (config.sslKey !== undefined && /\.(p12|pfx)$/i.test(config.sslKey)) {
    return { pfx: readPem(config.sslKey, 'database.sslkey'), passphrase };
  }
  return {
    cert: config.sslCert === undefined ? undefined : readPem(config.sslCert, 'database.sslcert'),
    key: config.sslKey === undefined ? undefined : privateKey(readPem(config.sslKey, 'database.sslkey'), passphrase),
    passphrase,
  };
}

function privateKey(content: Buffer, passphrase: string | undefined): string | Buffer {
  if (content.includes('-----BEGIN')) return content;
  try {
    return createPrivateKey({ key: content, format: 'der', type: 'pkcs8', passphrase }).export({ format: 'pem', type: 'pkcs8' });
  } catch (cause) {
    throw new WalbergError('CONFIG_INVALID', 'database.sslkey is neither PEM nor PKCS#8 DER, or database.sslpassword is wrong', { cause });
  }
}

function readPem(path: string, property: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new WalbergError('CONFIG_INVALID', `${property}: cannot read ${path}`, { context: { property, path }, cause });
  }
}
