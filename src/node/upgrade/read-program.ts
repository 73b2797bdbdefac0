import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { systemClock } from '../../clock.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { UserError } from '../../errors.ts';
import { readFailure } from '../../files/file-failure.ts';
import { ifPresent } from '../../files/if-present.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { LargeBodies } from '../../origins/http/large-bodies.ts';
import { type ManifestServer, visitServer } from '../../origins/http/manifest-server.ts';
import { maxSignatureFileBytes, type MinisignPublicKey, verifyMinisign } from '../../origins/http/minisign.ts';
import { isThisMachine, shownURL } from '../../origins/http/url.ts';
import { isSignedBlob, readCosignKeys } from '../../origins/oci/cosign.ts';
import { proxyFor } from '../sources/node-sources.ts';

/** Digests and keys that make a program trusted. */
export interface ProgramTrust {
  /** In hex. Undefined to read it from the file next to the program. */
  sha256: string | undefined;
  publicKeys: readonly MinisignPublicKey[];
  /** Files of cosign's public keys. */
  cosignKeyFiles: readonly string[];
}

/** How a program is fetched from a URL. */
export interface ProgramServer extends Pick<ManifestServer, 'url' | 'headers' | 'files'> {
  /** Folder of the file that holds the body until it is complete. */
  folder: string;
}

/** Reads the program, or with a suffix the file next to it. Returns undefined if that is missing. */
type Read = (suffix?: string) => Promise<Buffer | undefined>;

const maxProgramBytes = 512 * 1024 * 1024;
/** A bundle of cosign may have a chain of certificates and a proof. */
const maxBundleBytes = 256 * 1024;
const times = { stallMs: 60_000, totalMs: 3_600_000 };

/** Reads a program from a file and verifies it. Rejects with a `UserError`. */
export async function readProgramFile(path: string, trust: ProgramTrust): Promise<Buffer> {
  const read: Read = (suffix = '') =>
    ifPresent(readRegularFile(`${path}${suffix}`, limitOf(suffix), { followLinks: true }));
  try {
    const content = await read();
    if (content === undefined) throw new UserError(`${path}: no such file`);
    await verifyProgram(content, path, trust, { read, needsChecksum: false });
    return content;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`${path}: ${readFailure(error)}`, { cause: error });
  }
}

/** Fetches a program and verifies it. Rejects with a `UserError`, or with the signal's reason. */
export async function fetchProgram(server: ProgramServer, trust: ProgramTrust, signal: AbortSignal): Promise<Buffer> {
  const { url, headers, files } = server;
  refuseUnprotected(url, trust);
  const largeBodies = new LargeBodies(server.folder);
  const origin = { url, headers, files, proxyFor, largeBodies, clock: systemClock };
  const shown = shownURL(url);
  let reading = shown;
  try {
    return await visitServer(
      origin,
      signal,
      async (visit) => {
        const read: Read = async (suffix = '') => {
          const target = new URL(url);
          target.pathname += suffix;
          reading = shownURL(target);
          const answer = await visit.get(target, {}, limitOf(suffix));
          return answer === 'not modified' ? undefined : answer.body;
        };
        const content = (await read()) ?? Buffer.alloc(0);
        // TLS does not show that the server has the right file.
        await verifyProgram(content, shown, trust, { read, needsChecksum: true });
        return content;
      },
      times,
    );
  } catch (error) {
    if (!(error instanceof OriginFailure)) throw error;
    // What we found wrong with the answers.
    if (error.cause instanceof UserError) throw error.cause;
    throw new UserError(`${reading}: ${error.message}`, { hint: ofUpgrade(error.hint), cause: error });
  }
}

/** Without TLS, anybody on the way to the server can replace the program and its checksum. */
function refuseUnprotected(url: URL, { sha256, publicKeys, cosignKeyFiles }: ProgramTrust): void {
  const isProved = sha256 !== undefined || publicKeys.length + cosignKeyFiles.length > 0;
  if (url.protocol !== 'http:' || isProved || isThisMachine(url.hostname)) return;
  throw new UserError(`${shownURL(url)} is not protected by TLS, so its checksum proves nothing`, {
    hint: 'Use https://, or give --sha256, --public-key or --cosign-key.',
  });
}

const limitOf = (suffix: string): number =>
  suffix === '' ? maxProgramBytes : suffix === minisign ? maxSignatureFileBytes : maxBundleBytes;

const minisign = '.minisig';
const cosign = '.sigstore.json';

/** Names our flags, and does not promise to repeat a request. */
const ofUpgrade = (hint: string): string =>
  hint
    .replaceAll(/--manifest-url-(public-key|cosign-key|sha256)/g, '--$1')
    .replaceAll('--manifest-url-', '--url-')
    .replaceAll('The request is repeated automatically.', 'Then run the command again.');

interface AdjacentFiles {
  read: Read;
  /** True if a program without a signature must have a checksum. */
  needsChecksum: boolean;
}

async function verifyProgram(
  content: Buffer,
  shown: string,
  { sha256, publicKeys, cosignKeyFiles }: ProgramTrust,
  { read, needsChecksum }: AdjacentFiles,
): Promise<void> {
  const isSigned = publicKeys.length + cosignKeyFiles.length > 0;
  // A signature covers the content too.
  const expected = sha256 ?? (isSigned && needsChecksum ? undefined : checksumIn(await read('.sha256')));
  const actual = createHash('sha256').update(content).digest('hex');
  if (expected === '' || (expected === undefined && needsChecksum && !isSigned)) {
    throw new UserError(`${shown}.sha256 holds no SHA-256 checksum`, {
      hint: `Write it: sha256sum ${basename(shown)} > ${basename(shown)}.sha256. Or give --sha256.`,
    });
  }
  if (expected !== undefined && expected !== actual) {
    throw new UserError(`${shown} is damaged: its SHA-256 is ${actual}, not ${expected}`, {
      hint: 'Copy or download it again.',
    });
  }
  const distrust = (because: string, hint: string): UserError =>
    new UserError(`${shown} is not trusted: ${because}`, { hint });
  if (publicKeys.length > 0) {
    const signature = (await read(minisign))?.toString('utf8');
    const verification =
      signature === undefined
        ? { unsignedBecause: `there is no ${basename(shown)}${minisign}` }
        : verifyMinisign(content, signature, publicKeys);
    if ('unsignedBecause' in verification) {
      throw distrust(verification.unsignedBecause, 'Sign it with minisign -S and the key of --public-key.');
    }
  }
  if (cosignKeyFiles.length > 0) {
    const bundle = await read(cosign);
    const keys = await readKeys(cosignKeyFiles);
    if (bundle === undefined || !isSignedBlob(content, bundle, keys)) {
      const because =
        bundle === undefined ? `there is no ${basename(shown)}${cosign}` : 'no key of --cosign-key signed it';
      throw distrust(because, `Sign it: cosign sign-blob --key cosign.key --bundle ${basename(shown)}${cosign} FILE`);
    }
  }
}

async function readKeys(files: readonly string[]): ReturnType<typeof readCosignKeys> {
  try {
    return await readCosignKeys(files);
  } catch (error) {
    if (!(error instanceof OriginFailure)) throw error;
    throw new UserError(error.message, { hint: ofUpgrade(error.hint), cause: error });
  }
}

/** Returns the checksum in a file of sha256sum, or '' if it has none. Returns undefined without a file. */
const checksumIn = (file: Buffer | undefined): string | undefined =>
  file && (/^\\?([0-9a-f]{64})(?=\s|$)/i.exec(file.toString('latin1'))?.[1]?.toLowerCase() ?? '');
