import { createHash } from 'node:crypto';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import type { S3Config } from '../config/config.js';

/** Limits of one request. Times in milliseconds. */
export interface S3ClientLimits {
  /** Until a connection stands. Default 10,000. */
  readonly connectMs?: number;
  /** Without a byte in either direction. Default 60,000. */
  readonly idleMs?: number;
  /** Sendings of one request, the first included. Default 5. */
  readonly attempts?: number;
}

/** Connections to one host. */
const MAX_SOCKETS = 64;
const QUIET = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** A client of the AWS SDK as this configuration wants it. Opens no connection. */
export async function openS3Client(config: S3Config, limits: S3ClientLimits = {}): Promise<S3Client> {
  const [{ S3Client }, { NodeHttpHandler }] = await Promise.all([import('@aws-sdk/client-s3'), import('@smithy/node-http-handler')]);
  // This version of the SDK does run on every Node version Walberg runs on; its notice about later ones is not for operators.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  const agent = { keepAlive: true, maxSockets: MAX_SOCKETS };
  const client = new S3Client({
    ...credentials(config),
    ...(config.endpoint === undefined ? {} : { endpoint: config.endpoint }),
    ...region(config),
    forcePathStyle: config.pathStyleAccess,
    retryMode: 'adaptive',
    maxAttempts: limits.attempts ?? 5,
    // The newer checksum trailers are unknown to many servers other than AWS.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: new NodeHttpHandler({
      connectionTimeout: limits.connectMs ?? 10_000,
      socketTimeout: limits.idleMs ?? 60_000,
      httpAgent: agent,
      httpsAgent: agent,
      logger: QUIET,
    }),
  });
  useMd5OnDelete(client);
  return client;
}

function credentials(config: S3Config): Pick<S3ClientConfig, 'credentials'> {
  if (config.accessKeyId === undefined || config.secretAccessKey === undefined) return {};
  return { credentials: { accessKeyId: config.accessKeyId, secretAccessKey: config.secretAccessKey, sessionToken: config.sessionToken } };
}

/** Without a setting the SDK looks at AWS_REGION and the profile; a server of one's own seldom cares, but signing needs some region. */
function region(config: S3Config): Pick<S3ClientConfig, 'region'> {
  if (config.region !== undefined) return { region: config.region };
  if (config.endpoint === undefined) return {};
  return { region: process.env.AWS_REGION ?? process.env.AWS_DEFAULT_REGION ?? 'us-east-1' };
}

/**
 * DeleteObjects must carry a digest. The SDK sends a CRC-32, which servers from before 2025 do not know; every server
 * knows Content-MD5.
 */
function useMd5OnDelete(client: S3Client): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const request = args.request as { headers?: Record<string, string>; body?: unknown };
      if (context.commandName === 'DeleteObjectsCommand' && request.headers !== undefined && (typeof request.body === 'string' || request.body instanceof Uint8Array)) {
        for (const name of Object.keys(request.headers)) {
          if (/^x-amz-(sdk-)?checksum-/i.test(name)) delete request.headers[name];
        }
        request.headers['content-md5'] = createHash('md5').update(request.body).digest('base64');
      }
      return next(args);
    },
    { step: 'build', name: 'md5OnDelete', priority: 'low' },
  );
}
