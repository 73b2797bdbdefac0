import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { generate } from 'selfsigned';
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { errorMessage, hasCode, isSystemError, UserError } from '../../errors.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { writeFileAtomic } from '../../files/write-file-atomic.ts';

/** A serving pair in PEM. */
export interface ServingPair {
  cert: string;
  key: string;
}

export interface ServingFiles {
  /** Given by the user; both empty for a pair of our own in `certDir`. */
  tlsCertFile: string;
  tlsPrivateKeyFile: string;
  certDir: string;
  nodeName: string;
}

const maxBytes = 1024 * 1024;
const hourMs = 3600_000;
const dayMs = 24 * hourMs;
const lifeMs = 365 * dayMs;
/** A generated pair is renewed this long before it expires. */
const renewBeforeMs = 30 * dayMs;

/**
 * Reads the user's serving pair, or the generated one, which is created if it is missing, damaged or about to expire.
 * Logs a damaged one. Rejects with a `UserError` for an unusable pair of the user, and for a generated one that cannot
 * be read. kubelet: cmd/kubelet/app/server.go InitializeTLS
 */
export async function servingPair(
  files: ServingFiles,
  { clock, logger }: { clock: Pick<Clock, 'now'>; logger: Pick<Logger, 'warn'> },
): Promise<ServingPair> {
  const { tlsCertFile, tlsPrivateKeyFile, certDir } = files;
  if (tlsCertFile !== '' || tlsPrivateKeyFile !== '') return readGivenPair(tlsCertFile, tlsPrivateKeyFile);
  const paths = { cert: join(certDir, 'kubelet.crt'), key: join(certDir, 'kubelet.key') };
  const kept = await readPair(paths.cert, paths.key).catch((error: unknown) => {
    // A pair that cannot be read may be intact, and clients may trust it.
    if (isSystemError(error) && !hasCode(error, 'ENOENT', 'ENOTDIR')) {
      throw new UserError(`the serving certificate cannot be read: ${errorMessage(error)}`, {
        hint: `Make ${paths.cert} and its key readable, or remove both for a new pair.`,
        cause: error,
      });
    }
    const message = 'The serving certificate or its key is damaged and is created anew';
    if (!isSystemError(error)) logger.warn({ path: paths.cert, key: paths.key, err: errorMessage(error) }, message);
    return undefined;
  });
  if (kept !== undefined && !shouldRenew(kept.cert, clock.now())) return kept;
  const created = await makeServingPair(files.nodeName, clock.now());
  await makeFolder(certDir, 0o755);
  // A crash between the two leaves a key that does not match, and the next start generates another pair.
  await writeFileAtomic(paths.key, created.key, 0o600);
  await writeFileAtomic(paths.cert, created.cert, 0o644);
  return created;
}

async function readGivenPair(certFile: string, keyFile: string): Promise<ServingPair> {
  try {
    return await readPair(certFile, keyFile);
  } catch (cause) {
    throw new UserError(`the serving certificate cannot be used: ${errorMessage(cause)}`, {
      hint: 'It is named by tlsCertFile (--tls-cert-file), its key by tlsPrivateKeyFile (--tls-private-key-file).',
      cause,
    });
  }
}

/** Rejects if the files are not a certificate and its key. */
async function readPair(certFile: string, keyFile: string): Promise<ServingPair> {
  const [cert, key] = await Promise.all(
    [certFile, keyFile].map(async (path) => (await readRegularFile(path, maxBytes, { followLinks: true })).toString()),
  );
  if (cert === undefined || key === undefined) throw new Error('Both files were read');
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new UserError(`${keyFile} is not the key of ${certFile}`);
  }
  // Throws for a key that is too weak for OpenSSL.
  createSecureContext({ cert, key });
  return { cert, key };
}

/** `now` in milliseconds since the epoch. A pair that is not valid yet was made while the clock was ahead. */
function shouldRenew(cert: string, now: number): boolean {
  const { validFrom, validTo } = new X509Certificate(cert);
  return Date.parse(validFrom) > now || Date.parse(validTo) - now < renewBeforeMs;
}

/**
 * A pair for a host name, signed by an authority that is created for it and then discarded. kubelet: client-go cert.go
 * GenerateSelfSignedCertKeyWithFixtures
 */
async function makeServingPair(host: string, now: number): Promise<ServingPair> {
  const validity = {
    algorithm: 'sha256',
    keySize: 2048,
    notBeforeDate: new Date(now - hourMs),
    notAfterDate: new Date(now - hourMs + lifeMs),
  };
  const seconds = Math.floor(now / 1000);
  const authority = await generate([{ name: 'commonName', value: `${host}-ca@${seconds}` }], {
    ...validity,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, keyCertSign: true, critical: true },
    ],
  });
  const leaf = await generate([{ name: 'commonName', value: `${host}@${seconds}` }], {
    ...validity,
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: host }] },
    ],
  });
  const key = createPrivateKey(leaf.private).export({ type: 'pkcs1', format: 'pem' }).toString();
  return { cert: `${leaf.cert.trim()}\n${authority.cert.trim()}\n`, key };
}
