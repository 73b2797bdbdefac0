import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { asOriginFailure, OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import type {
  FetchReport,
  KnownBody,
  ManifestOrigin,
  OriginAnswer,
} from '../../engine/config/polled/manifest-origin.ts';
import { sha256 } from '../../engine/config/last-good/last-good-format.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import { ifPresent } from '../../files/if-present.ts';
import { manifestsOf, noManifest } from './user-data.ts';

/** Runs a program on this machine. Resolves to its output. Rejects if it fails. */
export type RunProgram = (file: string, args: readonly string[]) => Promise<Uint8Array>;

interface Options {
  /** `nocloud://`, or `nocloud:///FOLDER`. */
  url: URL;
  /** Seed folders, in cloud-init's order. Defaults to cloud-init's own. */
  seedFolders?: readonly string[];
  /** Folder of links named after file system labels. */
  labelFolder?: string;
  run?: RunProgram;
}

const seedFoldersOfCloudInit = ['/var/lib/cloud/seed/nocloud', '/var/lib/cloud/seed/nocloud-net'];
const labels = ['cidata', 'CIDATA'];

/**
 * The user data of cloud-init's NoCloud, from a seed folder or else from a disk with the label `cidata`. A disk is
 * mounted only while it is read, and is read again only if it has changed.
 */
export class NoCloudOrigin implements ManifestOrigin {
  readonly where: string;
  /** The disk that was read, with the time of its last change, and why its user data failed. */
  private readDisk: { identity: string; failure?: OriginFailure } | undefined;

  constructor(private readonly options: Options) {
    this.where = options.url.href;
  }

  async fetch(known: KnownBody | undefined, report: FetchReport): Promise<OriginAnswer> {
    const body = await this.read(known !== undefined);
    if (body === undefined) return { validators: {} };
    report.bodyBytes = body.length;
    return { validators: {}, ...(sha256(body) !== known?.digest && { content: { body } }) };
  }

  /** Returns the manifests. Returns undefined if they are on a disk that was already read. */
  private async read(isKnown: boolean): Promise<Buffer | undefined> {
    const { url, seedFolders = seedFoldersOfCloudInit } = this.options;
    const folders = url.pathname === '' || url.pathname === '/' ? seedFolders : [decodeURIComponent(url.pathname)];
    for (const folder of folders) {
      const found = await readIfThere(join(folder, 'user-data'));
      if (found !== undefined) return manifestsOf(found);
    }
    const { labelFolder = '/dev/disk/by-label' } = this.options;
    for (const label of folders === seedFolders ? labels : []) {
      const disk = join(labelFolder, label);
      const found = await ifPresent(stat(disk), 'ENOTDIR');
      if (found === undefined) continue;
      const identity = `${disk} ${found.rdev} ${found.ctimeMs}`;
      if (identity === this.readDisk?.identity) {
        if (this.readDisk.failure !== undefined) throw this.readDisk.failure;
        if (isKnown) return undefined;
      }
      const userData = await this.readFrom(disk);
      try {
        const body = manifestsOf(userData);
        this.readDisk = { identity };
        return body;
      } catch (error) {
        this.readDisk = { identity, failure: asOriginFailure(error) };
        throw error;
      }
    }
    const hint = `It is looked for in ${folders.join(', ')}, and on a disk with the label cidata.`;
    throw noManifest('this machine has no user-data', hint);
  }

  /** Mounts the disk in a mount namespace that disappears with its program, so that a kill leaves no mount behind. */
  private async readFrom(disk: string): Promise<Buffer> {
    const { run = runProgram } = this.options;
    const args = ['--mount', '--propagation', 'private', 'sh', '-c', readScript, disk, String(maxManifestBytes + 1)];
    const userData = await run('unshare', args).catch((error: unknown) => {
      const hint = 'It must be an ISO 9660 or VFAT file system with a regular file user-data.';
      throw new OriginFailure('refused', `${disk} cannot be read: ${reasonOf(error)}`, hint, { cause: error });
    });
    if (userData.length <= maxManifestBytes) return Buffer.from(userData);
    throw new OriginFailure('refused', `user-data of ${disk} has over ${maxManifestBytes} bytes`, 'Split it.');
  }
}

/** No other process uses the mount on /run. The disk is read-only, so the file cannot change after the check. */
const readScript = `set -e
mount -t iso9660,vfat -o ro,nosuid,nodev,noexec "$0" /run
cd /run
if [ -L user-data ] || [ ! -f user-data ]; then echo 'user-data is not a regular file' >&2; exit 1; fi
exec head -c "$1" user-data`;

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return Buffer.from(await readRegularFile(path, maxManifestBytes));
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw new OriginFailure('refused', `${path} cannot be read: ${errorMessage(error)}`, 'Check the file.', {
      cause: error,
    });
  }
}

/** Returns the last line of its stderr, or else its message. */
function reasonOf(error: unknown): string {
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  return output === '' ? errorMessage(error) : (output.split('\n').at(-1) ?? '');
}

const programTimeoutMs = 30_000;

/** Default of `run`. Resolves to the output, byte for byte. */
export const runProgram: RunProgram = async (file, args) => {
  const { execa } = await import('execa');
  const { stdout } = await execa(file, args, {
    timeout: programTimeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: 2 * maxManifestBytes,
    stdin: 'ignore',
    encoding: 'buffer',
    stripFinalNewline: false,
  });
  return stdout;
};
