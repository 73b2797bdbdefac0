import { stat } from 'node:fs/promises';
import { errorMessage } from '../../errors.ts';
import type { ManifestProblem } from '../../engine/view/events.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import type { TLSOptions } from './http-request.ts';

/** Files with our credentials for a server and the authorities that we trust. */
export interface HTTPCredentialFiles {
  /** Certificates of the trusted authorities, in PEM. They replace the well-known ones. */
  caFile?: string;
  /** Client certificate, in PEM. Requires `keyFile`. */
  certFile?: string;
  keyFile?: string;
  /** A bearer token. */
  tokenFile?: string;
}

/** A bundle of all well-known authorities is much smaller. */
const maxFileBytes = 4 * 1024 * 1024;

/** Contents of the files. */
export interface HTTPCredentials {
  tls: TLSOptions;
  token: string | undefined;
  warnings: ManifestProblem[];
}

/**
 * Reads the files each time, because they may be replaced at any time. Rejects with an OriginFailure if one is
 * unusable.
 */
export async function readCredentials(files: HTTPCredentialFiles): Promise<HTTPCredentials> {
  const { caFile, certFile, keyFile, tokenFile } = files;
  const [ca, cert, key, token] = await Promise.all([caFile, certFile, keyFile, tokenFile].map(read));
  const warnings = await Promise.all([keyFile, tokenFile].map(exposure));
  return {
    tls: { ca, cert, key },
    token: token === undefined ? undefined : validToken(token, tokenFile),
    warnings: warnings.flat(),
  };
}

async function read(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return (await readRegularFile(path, maxFileBytes, { followLinks: true })).toString('utf8');
  } catch (error) {
    const hint = 'The URL is not requested without it.';
    throw new OriginFailure('refused', `cannot be requested: ${errorMessage(error)}`, hint, { cause: error });
  }
}

function validToken(text: string, path = ''): string {
  const token = text.trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  const hint = 'The file must contain only the token.';
  throw new OriginFailure('refused', `cannot be requested: ${path} contains no token`, hint);
}

async function exposure(path: string | undefined): Promise<ManifestProblem[]> {
  if (path === undefined) return [];
  const { mode } = await stat(path);
  if ((mode & 0o007) === 0) return [];
  const message = 'every user of this machine may read this secret';
  return [{ origin: path, severity: 'warning', message, hint: `chmod o= ${path}` }];
}
